# frontier.gp -- the picture of docs/reproductions.md from table.csv (table.py) in this folder.
#
#   cd docs/experiments/frontier && gnuplot frontier.gp
#
# SPDX-License-Identifier: Apache-2.0

set datafile separator ","
set grid lc rgb "#dddddd"
set border lc rgb "#777777"
set tics textcolor rgb "#333333"
set bars 0.6

grey = "#555555"
rust = "#c4551b"
blue = "#3367d6"
teal = "#00796b"
chance = 0.4960 # the share of positive test records

# Column c of the rows of one case.
of(case, c) = (strcol(1) eq case) ? column(c) : NaN
name(k) = strcol(1)." ".strcol(2)

do for [kind in "png svg"] {
    if (kind eq "png") { set terminal pngcairo size 1100,560 font "sans,9" background "white" } \
    else { set terminal svg size 1100,560 font "sans,11" background "white" }
    set output "frontier.".kind
    set multiplot
    set yrange [0.4:1]
    set logscale x

    # Sound claims of a record, and the two goals.
    set lmargin at screen 0.055
    set rmargin at screen 0.72
    set tmargin at screen 0.93
    set bmargin at screen 0.11
    set xrange [1.6:24]
    set xtics (2, 3, 4, 5, 6, 8, 10, 12, 15, 20)
    set title "one record against the server: record\\_dp, record\\_frozen" offset 0,-0.6
    set xlabel "epsilon at delta 1e-5 (log scale)" offset 0,0.4
    set ylabel "test AUPRC under the mechanism, mean and sd over the seeds" offset 1,0
    set object 1 rect from 1.6, 0.90 to 6, 1 fc rgb teal fs transparent solid 0.08 noborder behind
    set object 2 rect from 1.6, 0.95 to 15, 1 fc rgb teal fs transparent solid 0.08 noborder behind
    set label 1 "goal: 0.90 at epsilon 6" at 1.6, 0.90 left offset 0.5,0.7 textcolor rgb teal
    set label 2 "goal: 0.95 at epsilon 15" at 1.6, 0.95 left offset 0.5,0.7 textcolor rgb teal
    set arrow 1 from 1.6, chance to 24, chance nohead dt 3 lc rgb grey
    set label 3 "a head that knows nothing" at 1.7, chance left offset 0,-0.6 textcolor rgb grey
    set key bottom right samplen 2 spacing 1.3 opaque
    plot "table.csv" using (of("dp", 8)):4:5 with yerrorbars pt 7 ps 1.1 lc rgb teal title "dp, β up to 0.49", \
         "" using (of("narrow", 8)):4:5 with yerrorbars pt 6 ps 1.1 lc rgb blue title "dp, β up to 1/4", \
         "" using (of("frozen", 8)):4:5 with yerrorbars pt 5 ps 1 lc rgb grey title "frozen, every row once", \
         "" using (of("dp", 8)):4:(name(0)) with labels right offset -0.7,0.7 textcolor rgb teal notitle, \
         "" using (of("narrow", 8)):4:(name(0)) with labels left offset 0.6,-0.6 textcolor rgb blue notitle, \
         "" using (of("frozen", 8)):4:(name(0)) with labels right offset -0.7,0.9 textcolor rgb grey notitle

    # PBM-VFL's own settings, whose bottoms train on the bare records.
    unset object
    unset label
    unset arrow
    set lmargin at screen 0.745
    set rmargin at screen 0.985
    set xrange [2e5:2e8]
    set xtics autofreq
    set format x "10^{%T}"
    set format y ""
    unset ylabel
    set title "PBM-VFL's own settings: record\\_raw" offset 0,-0.6
    set xlabel "epsilon (vacuous above 20)" offset 0,0.4
    set arrow 1 from 2e5, chance to 2e8, chance nohead dt 3 lc rgb grey
    plot "table.csv" using (of("paper", 8)):4:5 with yerrorbars pt 9 ps 1.2 lc rgb rust title "paper, 100 epochs", \
         "" using (of("paper", 8)):4:2 with labels rotate by -90 left offset 0,-1.6 textcolor rgb rust notitle
    unset arrow
    unset multiplot
    set format "% h"
}
