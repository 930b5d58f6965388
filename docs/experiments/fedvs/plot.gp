# plot.gp -- the pictures of docs/reproductions.md from curves.csv (table.py) in this folder.
#
#   cd docs/experiments/fedvs && gnuplot plot.gp
#
# SPDX-License-Identifier: Apache-2.0

set datafile separator ","
set grid lc rgb "#dddddd"
set border lc rgb "#777777"
set tics textcolor rgb "#333333"
set style fill transparent solid 0.15 noborder

grey = "#555555"
rust = "#c4551b"
blue = "#3367d6"
teal = "#00796b"
plum = "#8e24aa"

# Column c of the rows of one data set and arm of the race.
of(data, arm, c) = (strcol(1) eq "race" && strcol(2) eq data && strcol(3) eq arm) ? column(c) : NaN

arms = "fedvs wait drop async gaussian"
colours = teal." ".grey." ".rust." ".blue." ".plum
datas = "default-credit mfeat fashion-mnist"
names = "'default-credit: test AUC' 'mfeat: test accuracy' 'Fashion-MNIST: test accuracy'"
targets = "0.74 0.94 0.82"

set terminal pngcairo size 1500,430 font "sans,9" background "white"
set output "race.png"
set multiplot layout 1,3 margins 0.035,0.99,0.12,0.91 spacing 0.035,0.1
set logscale x
set xlabel "seconds of training, without evaluation (log scale)" offset 0,0.4
set key bottom left Left reverse samplen 2 spacing 1.3 opaque
do for [d = 1:3] {
    data = word(datas, d)
    target = word(targets, d) + 0
    set title word(names, d) offset 0,-0.6
    set arrow 1 from graph 0, first target to graph 1, first target nohead dt 3 lc rgb grey
    set label 1 "target ".word(targets, d) at graph 0.01, first target left offset 0,0.5 textcolor rgb grey
    set xrange [0.3:*]
    if (d == 1) { set yrange [0.45:0.8] } else { set yrange [0:1] }
    plot for [i = 1:5] "curves.csv" using (of(data, word(arms, i), 7)):(column(8) - column(9)): \
             (column(8) + column(9)) with filledcurves lc rgb word(colours, i) notitle, \
         for [i = 1:5] "" using (of(data, word(arms, i), 7)):8 \
             with lines lw 2 lc rgb word(colours, i) title word(arms, i)
}
unset multiplot

# Figure 3, twice, and figure 4.
unset label 1
set key bottom right noreverse Right
unset arrow 1
set output "sweeps.png"
set multiplot layout 1,3 margins 0.035,0.99,0.12,0.91 spacing 0.035,0.1
unset logscale x
set xlabel "seconds of training, without evaluation" offset 0,0.4
set xrange [0:*]
shades = teal." ".blue." ".rust." ".plum." ".grey
sweeps = "segments-busy segments privacy"
titles = "'K, no delays: Fashion-MNIST, test accuracy' 'K, delays: Fashion-MNIST, test accuracy' \
          'T, delays: default-credit, test AUC'"
of_data = "fashion-mnist fashion-mnist default-credit"
line(table, data, c, value, y) = \
    (strcol(1) eq table && strcol(2) eq data && column(c) == value) ? column(y) : NaN
do for [p = 1:3] {
    table = word(sweeps, p)
    data = word(of_data, p)
    set title word(titles, p) offset 0,-0.6
    c = p == 3 ? 5 : 4
    values = p == 3 ? "1 2 3 4 5" : "1 2 4 8"
    set yrange [(p == 3 ? 0.6 : 0.65):(p == 3 ? 0.75 : 0.85)]
    plot for [i = 1:words(values)] "curves.csv" using (line(table, data, c, word(values, i) + 0, 7)):8 \
        with lines lw 2 lc rgb word(shades, i) title (p == 3 ? "T = " : "K = ").word(values, i)
}
unset multiplot
