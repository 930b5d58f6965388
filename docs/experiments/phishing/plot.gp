# plot.gp -- the pictures of docs/reproductions.md from curves.csv and payload.csv (table.py) in this folder.
#
#   cd docs/experiments/phishing && gnuplot plot.gp
#
# SPDX-License-Identifier: Apache-2.0

set datafile separator ","
set style data lines
set grid lc rgb "#dddddd"
set border lc rgb "#777777"
set tics textcolor rgb "#333333"

teal = "#00796b"
blue = "#3367d6"
rust = "#c4551b"
target = 0.9

# Column c of the rows of one encoding and init.
of(encoding, init, c) = (strcol(1) eq encoding && strcol(2) eq init) ? column(c) : NaN

columns = "pbm:8:0.25 pbm:16:0.2 pbm:16:0.25 pbm:32:0.15 pbm:64:0.1 pbm:64:0.25 float32"
titles = "'b = 8, β = 0.25' 'b = 16, β = 0.2' 'b = 16, β = 0.25' 'b = 32, β = 0.15' 'b = 64, β = 0.1' 'b = 64, β = 0.25' 'float32, in clear'"
paper = "23 15 8 12 15 2 2"

# --- train AUPRC by epoch: one panel for each column of Table 3 ------------------------------------------

set terminal pngcairo size 1240,640 font "sans,9" background "white"
set output "auprc.png"
set multiplot layout 2,4 margins 0.045,0.985,0.07,0.95 spacing 0.035,0.1
set yrange [0.5:1]
set xtics 0,5
set key off
do for [k = 1:7] {
    e = word(columns, k)
    p = word(paper, k) + 0
    set title word(titles, k) offset 0,-0.6
    set xrange [0:(p > 18 ? p : 18) + 1]
    set arrow 1 from p, graph 0 to p, graph 1 nohead dt 3 lc rgb "#555555"
    set arrow 2 from graph 0, first target to graph 1, first target nohead dt 3 lc rgb "#555555"
    set label 1 "paper" at p, 0.52 right offset -0.5,0 textcolor rgb "#555555"
    set key off
    plot for [i = 1:3] "curves.csv" using 3:(of(e, word("glorot he torch", i), 7)) \
             lw 1 dt 2 lc rgb word(teal." ".blue." ".rust, i), \
         for [i = 1:3] "" using 3:(of(e, word("glorot he torch", i), 6)) \
             with points pt 6 ps 0.7 lc rgb word(teal." ".blue." ".rust, i), \
         for [i = 1:3] "" using 3:(of(e, word("glorot he torch", i), 4)) \
             lw 2 lc rgb word(teal." ".blue." ".rust, i)
}
unset arrow
unset label
unset title
unset border
unset tics
set key inside center samplen 3 spacing 1.4
set xrange [0:1]
set yrange [0:1]
plot NaN lw 2 lc rgb teal title "glorot", NaN lw 2 lc rgb blue title "he", NaN lw 2 lc rgb rust title "torch", \
     NaN lw 2 lc rgb "#333333" title "daemons", \
     NaN with points pt 6 ps 0.9 lc rgb "#333333" title "numpy, same weights at start", \
     NaN lw 1 dt 2 lc rgb "#333333" title "numpy, its exact sums"
unset multiplot

# --- PBM beside Gaussian noise at each party --------------------------------------------------------------

set terminal pngcairo size 1240,340 font "sans,9" background "white"
set output "gaussian.png"
set border
set tics
set multiplot layout 1,3 margins 0.045,0.985,0.13,0.91 spacing 0.035,0.1
set yrange [0.5:1]
set xrange [0:50]
set xtics 0,10
set key at graph 0.98, graph 0.55 right samplen 2 spacing 1.2
do for [k in "2 3 6"] {
    if (k > 2) { set key off }
    e = word(columns, k + 0)
    n = e[5:*]
    set title word(titles, k + 0) offset 0,-0.6
    set arrow 2 from graph 0, first target to graph 1, first target nohead dt 3 lc rgb "#555555"
    plot "curves.csv" using 3:(of("pbm:".n, "glorot", 4)) lw 2 lc rgb teal title "PBM", \
         "" using 3:(of("gaussian-equal_rdp:".n, "glorot", 4)) lw 2 lc rgb blue title "Gaussian, equal divergence", \
         "" using 3:(of("gaussian-paper:".n, "glorot", 4)) lw 2 lc rgb rust title "Gaussian, as in the paper", \
         "" using 3:(of("pbm:".n, "glorot", 6)) with points pt 6 ps 0.7 lc rgb teal notitle, \
         "" using 3:(of("gaussian-equal_rdp:".n, "glorot", 6)) with points pt 6 ps 0.7 lc rgb blue notitle, \
         "" using 3:(of("gaussian-paper:".n, "glorot", 6)) with points pt 6 ps 0.7 lc rgb rust notitle
}
unset multiplot
unset arrow
unset title

# --- bytes until the target -------------------------------------------------------------------------------

set terminal pngcairo size 760,330 font "sans,9" background "white"
set output "payload.png"
set style data histograms
set style histogram clustered gap 1.5
set style fill solid 0.9 noborder
set key top right
set yrange [0:*]
set xrange [*:*]
set xtics autofreq
unset xtics
set xtics nomirror scale 0
set ylabel "MB of payload, both directions"
plot "payload.csv" using 2:xtic(1) every ::1 lc rgb "#999999" title "paper, Table 3 (read as gigabits)", \
     "" using 3 every ::1 lc rgb teal title "daemons, glorot", \
     "" using 4 every ::1 lc rgb blue title "he", \
     "" using 5 every ::1 lc rgb rust title "torch"
