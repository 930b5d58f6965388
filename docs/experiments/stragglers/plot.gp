# plot.gp -- the pictures of docs/reproductions.md from curves.csv (table.py) in this folder.
#
#   cd docs/experiments/stragglers && gnuplot plot.gp
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

# Column c of the rows of one data set, arm and delayed message.
of(data, arm, before, c) = (strcol(1) eq data && strcol(2) eq arm && strcol(3) eq before) ? column(c) : NaN

arms = "wait drop async coded"
colours = grey." ".rust." ".blue." ".teal
figures = "share upload"
titles = "'(i) the first message of a round is late: coded needs the shares of all and cannot help' \
          '(ii) the upload is late: coded goes on with the first K + T uploads'"
before(k, arm) = arm eq "coded" ? word(figures, k) : "upload"

do for [d = 1:2] {
    data = word("default-credit mfeat", d)
    target = word("0.74 0.94", d) + 0
    set terminal pngcairo size 1240,430 font "sans,9" background "white"
    set output data.".png"
    set multiplot layout 1,2 margins 0.05,0.985,0.12,0.91 spacing 0.035,0.1
    set logscale x
    set xrange [0.08:*]
    set xlabel "seconds of training, without evaluation (log scale)" offset 0,0.4
    set arrow 1 from graph 0, first target to graph 1, first target nohead dt 3 lc rgb grey
    set label 1 "target ".word("0.74 0.94", d) at graph 0.01, first target left offset 0,0.5 textcolor rgb grey
    set key bottom right samplen 2 spacing 1.3 opaque
    do for [k = 1:2] {
        set title word(titles, k) offset 0,-0.6
        set ylabel (k == 1 ? word("'test AUC' 'test accuracy'", d) : "") offset 1.5,0
        if (d == 1) { set yrange [0.6:0.78] } else { set yrange [0.4:1] }
        plot for [i = 1:4] "curves.csv" using 5:(of(data, word(arms, i), before(k, word(arms, i)), 6) - column(7)): \
                 (column(6) + column(7)) with filledcurves lc rgb word(colours, i) notitle, \
             for [i = 1:4] "" using 5:(of(data, word(arms, i), before(k, word(arms, i)), 6)) \
                 with lines lw 2 lc rgb word(colours, i) title word(arms, i)
    }
    unset multiplot
}
