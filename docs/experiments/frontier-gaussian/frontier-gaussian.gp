# frontier-gaussian.gp -- the picture of docs/reproductions.md from table.csv (table.py) in this folder.
#
#   cd docs/experiments/frontier-gaussian && gnuplot frontier-gaussian.gp
#
# SPDX-License-Identifier: Apache-2.0

set datafile separator ","
set grid lc rgb "#dddddd"
set border lc rgb "#777777"
set tics textcolor rgb "#333333"
set bars 0.6
set logscale x
set xrange [1.7:16]
set xtics (2, 3, 4, 5, 6, 8, 10, 12, 15)
set yrange [0.65:1]
set key bottom right samplen 2 spacing 1.3 opaque
set xlabel "epsilon of one record against the server, delta 1e-5 (log scale)" offset 0,0.4
set ylabel "test AUPRC under the mechanism, mean and sd of 24 seeds" offset 1,0

of(case, c) = (strcol(2) eq case) ? column(c) : NaN

do for [kind in "png svg"] {
    if (kind eq "png") { set terminal pngcairo size 760,460 font "sans,9" background "white" } \
    else { set terminal svg size 760,460 font "sans,11" background "white" }
    set output "frontier-gaussian.".kind
    plot "table.csv" using 7:(of("pbm", 4)):5 with yerrorbars pt 7 ps 1 lc rgb "#00796b" title "PBM, β up to 0.49", \
         "" using ($7 * 1.025):(of("gaussian", 4)):5 with yerrorbars pt 5 ps 1 lc rgb "#c4551b" \
            title "discrete Gaussian (moved right)", \
         "" using 7:(of("narrow", 4)):5 with yerrorbars pt 6 ps 1.1 lc rgb "#3367d6" title "PBM, β up to 1/4"
}
