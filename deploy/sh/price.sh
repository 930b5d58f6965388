# shellcheck shell=sh
# price.sh -- what releases cost, or what may be released for a price.
#
# All arithmetic is vfl-price's.
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # variables are shared with ../vfl

price_usage() {
    cat <<'USAGE'
usage: vfl price [--epsilon E] [--delta D] [--trials B] [--beta X] [--embedding P] [--releases N] [--m-eff M]
                 [--noise S] [--steps Q] [--group G] [--statistics RHO]

       vfl price --advise --rows N --columns A,B,... --classes K --epsilon E [--delta D]

Give all but one of them, and the missing one is computed: the smallest epsilon, delta, m-eff or noise, the largest
trials, beta, embedding or releases.

  --epsilon    the claim, for one record against whoever has m-eff parties' noise before it
  --delta      default 1e-5; sought when nothing else is missing
  --trials     b of the Poisson Binomial Mechanism
  --beta       its beta, up to 0.49; above 0.25 a plan needs protocol.pbm.wide
  --embedding  P: coordinates of a released vector
  --releases   how many vectors can depend on what changes: with a frozen bottom, or one trained with noise, the
               releases of one record; with a bottom that trains on raw data all releases of the run
  --m-eff      parties in a sum that the adversary does not hold: M for the server alone, M - 1 for the server and a
               party, or for a party; 1 for the server and all others
  --noise      the bottom trains with noise of this multiple of the gradients' clip (model.noise); 0 or left out:
               it is frozen; sought, for one step, when all else is given
  --steps      Q local steps on each release; with --noise and without --steps: 1; alone: the noise is sought
  --group      what G records cost that change together (copies, a family): G times the releases, and G^2 times the
               steps, since they may be in one batch; 1
  --statistics what of its columns was drawn with noise, once: the rho of a schema with statistics: dp, as
               vfl-party -n says it; G^2 times that for a group; 0

With --advise in front: settings for one epoch of training with noise, as parts of server.yaml and of each party's file,
that cost one record at most epsilon; delta is that of privacy.delta: auto for so many rows where it is left out, 1e-5
at most, by which parties judge; rows of a test count there, too: give --delta where they are many.  With three
classes or more the scores are far below what central training has at the same epsilon
(docs/reproductions.md).  There are no masks: the server sees each party's coins, and each party's own noise alone
is what hides its records.

  --rows       rows to train on
  --columns    of each party, as many numbers as there are parties
  --classes    what there is to tell apart, 2 or more

Exit 5: no value does it.
USAGE
}

price_main() {
    case ${1:-} in -h | --help) price_usage && exit 0 ;; esac
    [ $# -gt 0 ] || {
        price_usage >&2
        exit 2
    }
    [ -x "$vfl_bin/vfl-price" ] || fail 6 "$vfl_bin/vfl-price is missing (make all)"
    exec "$vfl_bin/vfl-price" "$@"
}
