#!/usr/bin/python3
# odd.py -- two public tables with every oddity that raw files have, and scikit-learn beside them on pooled columns.
#
#   odd.py make SHARED FOLDER            FOLDER/clients-train.csv.gz, clients-test.csv.gz, sites-...
#   odd.py sklearn FOLDER SCORES.csv     logistic regression and an MLP, with the preparation of docs/tables.md
#   odd.py table SCORES.csv RUNS.csv     beside the runs of grid.yaml
#
# clients (default-credit, every second row): `;`, a byte order mark, CRLF, words for codes, names of columns in quotes;
# ages as dates, a time of day with changing zones, a remark that is another one in most rows.  sites (phishing): `,`, LF,
# words for codes, empty lines at the end.  Both: a fifth of all cells missing, in five spellings, quotes with commas,
# delimiters, quotes and line ends inside, blanks around cells; and in the test rows texts that no training row has.
#
# A row is tested when the first byte of SHA-256 of its id, mod 5, is 0.  Dice are seeded by the names of the files.
# SPDX-License-Identifier: Apache-2.0
import csv
import datetime
import gzip
import os
import random
import sys
import warnings

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "defaults"))
import beside  # noqa: E402  the same draws, scores and reading of tables

SETS = {"clients": ("default-credit", 2, ";"), "sites": ("phishing", 1, ",")}
MISSING = ("", "?", "NA", '""', " null ")
SEEDS = range(31, 41)
CLIENTS = {
    "SEX": {"1": "male", "2": "female"},
    "EDUCATION": {"1": 'graduate "school"', "2": "university", "3": "school, high", "4": "others; some",
                  "5": "not\nknown"},
    "MARRIAGE": {"1": "married", "2": "single", "3": "other, \"none\"\r\nof these"},
    "PAY": {"-2": "no use", "-1": "paid", "0": "revolving", "1": "late, 1 month", "2": "late, 2 months"},
}
SITES = {"-1": "no", "0": "doubtful, perhaps", "1": "yes"}
ZONES = (0, 60, 330, -300)


def client_cell(dice, column, text, test):
    if column == "AGE":
        return "%d-%02d-%02d" % (2005 - int(text), dice.randint(1, 12), dice.randint(1, 28))
    if test and column == "EDUCATION" and dice.random() < 0.03:
        return "universit\u00e9"
    if column in ("SEX", "EDUCATION", "MARRIAGE"):
        return CLIENTS[column].get(text, "code " + text)
    if column.startswith("PAY_") and column[4].isdigit():
        return CLIENTS["PAY"].get(text, "later")
    return text


def more_of_client(dice, row):
    """A time of day in one of several zones, later for who owes more, and a remark."""
    zone = dice.choice(ZONES)
    minutes = int(row[12]) // 100 + dice.randint(0, 600) + zone
    when = datetime.datetime(2005, 9, 1, 8) + datetime.timedelta(minutes=minutes)
    mark = "%s%02d:%02d" % ("-" if zone < 0 else "+", abs(zone) // 60, abs(zone) % 60)
    return [when.strftime("%Y-%m-%dT%H:%M:%S") + mark, 'said: "%x", and\nno more' % dice.getrandbits(40)]


def site_cell(dice, column, text, test):
    return "unheard of" if test and dice.random() < 0.01 else SITES[text]


def write(path, name, head, rows, test):
    dice = random.Random(os.path.basename(path))
    sign = SETS[name][2]
    client = name == "clients"
    quoted = lambda text: '"' + text.replace('"', '""') + '"'
    end = "\r\n" if client else "\n"

    def spelt(text):
        if dice.random() < 0.2:
            return dice.choice(MISSING)
        if dice.random() < 0.3 or set(text) & set(sign + '"\r\n') or text != text.strip():
            return quoted(text)
        return " " * dice.randint(0, 2) + text + " " * dice.randint(0, 1)

    with gzip.open(path, "wt", compresslevel=1, newline="", encoding="utf-8") as f:
        names = head[:-1] + (["seen at", "remark, by hand"] if client else []) + ["outcome"]
        f.write(("\ufeff" if client else "") + sign.join(map(quoted, names)) + end)
        for row in rows:
            cells = [(client_cell if client else site_cell)(dice, c, t, test) for c, t in zip(head[1:-1], row[1:-1])]
            if client:
                cells += more_of_client(dice, row)
            f.write(sign.join([row[0]] + [spelt(c) for c in cells] + ["bad" if row[-1] == "1" else "good"]) + end)
        if not client:
            f.write(end * 3)


def make(shared, folder):
    os.makedirs(folder, exist_ok=True)
    for name, (origin, step, _) in SETS.items():
        head, train, test, _ = beside.read_table(shared, origin)
        for part, rows in (("train", train), ("test", test)):
            rows = [r for r in rows if int(r[0]) % step == 0]
            write(f"{folder}/{name}-{part}.csv.gz", name, head, rows, part == "test")


# --- scikit-learn ---


def days(text):
    when = datetime.datetime.fromisoformat(text)
    if when.tzinfo is not None:
        when = when.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return (when - datetime.datetime(2000, 1, 1)).total_seconds() / 86400


def load(folder, name):
    """Training and test rows as docs/tables.md prepares them: by the training rows alone."""
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder
    parts, gone = [], {m.strip(' "') for m in MISSING}
    for part in ("train", "test"):
        with gzip.open(f"{folder}/{name}-{part}.csv.gz", "rt", encoding="utf-8-sig", newline="") as f:
            rows = csv.reader(f, delimiter=SETS[name][2], skipinitialspace=True)
            parts.append([[c.strip() for c in row[1:]] for row in list(rows)[1:] if row])
    texts, numbers = [], []
    for i in range(len(parts[0][0]) - 1):
        cells = [[r[i] for r in rows] for rows in parts]
        first = next(c for c in cells[0] if c not in gone)
        for kind in (float, days):
            try:
                kind(first)
            except ValueError:
                continue
            numbers.append([[np.nan if c in gone else kind(c) for c in column] for column in cells])
            break
        else:
            if 2 * len(set(cells[0]) - gone) <= sum(c not in gone for c in cells[0]):  # or it is a remark
                texts.append([["" if c in gone else c for c in column] for column in cells])
    t = [np.array([c[k] for c in texts], dtype=object).T for k in (0, 1)]
    x = [np.array([c[k] for c in numbers]).T.reshape(len(parts[k]), -1) for k in (0, 1)]
    hot = OneHotEncoder(min_frequency=2, max_categories=257, handle_unknown="infrequent_if_exist", sparse_output=False)
    hot.fit(t[0])
    fill = SimpleImputer(add_indicator=True).fit(x[0]) if x[0].shape[1] else None
    return [(np.hstack([hot.transform(t[k])] + ([fill.transform(x[k])] if fill else [])),
             np.array([int(r[-1] == "bad") for r in parts[k]])) for k in (0, 1)]


def sklearn(folder, path):
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import GridSearchCV
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import StandardScaler
    warnings.filterwarnings("ignore")
    with open(path, "w") as f:
        f.write("set,model,seed,score,error\n")

        def say(model, seed, prob):
            # beside.error draws test rows anew: two classes are scored by the AUC under a name of its own sets
            rows = beside.error("phishing", prob, ty)
            f.write(f"{name},{model},{seed},{100 * roc_auc_score(ty, prob[:, 1]):.3f},{rows:.3f}\n")
            f.flush()

        for name in SETS:
            (x, y), (tx, ty) = load(folder, name)
            scale = StandardScaler().fit(x)
            x, tx = scale.transform(x), scale.transform(tx)
            logistic = GridSearchCV(LogisticRegression(max_iter=300), {"C": [0.001, 0.01, 0.1, 1]}, cv=3,
                                    scoring="roc_auc").fit(x, y)
            say("logistic", "", logistic.predict_proba(tx))
            for seed in SEEDS:
                say("mlp", seed, MLPClassifier(early_stopping=True, random_state=seed).fit(x, y).predict_proba(tx))


# --- side by side ---


def table(scores, runs):
    theirs, ours = {}, {}
    for r in beside.lines_of(scores):
        theirs.setdefault((r["set"], r["model"]), []).append((float(r["score"]), float(r["error"])))
    for r in beside.lines_of(runs):
        if r["status"] == "completed":
            ours.setdefault((r["case"], r["protocol"]), []).append(100 * float(r["test_auc"]))
    mean = lambda v: (np.mean(v), np.std(v, ddof=1) / len(v) ** 0.5 if len(v) > 1 else 0)
    print("| set | | AUC, points | its standard error by seeds | by test rows | ours, masked, less it |")
    print("|---|---|---|---|---|---|")
    for name in SETS:
        masked = mean(ours[name, "masked"])[0]
        for model in ("logistic", "mlp"):
            got = theirs[name, model]
            value, seeds = mean([v for v, _ in got])
            rows = np.mean([e for _, e in got])
            print(f"| {name} | {model} | {value:.2f} | {seeds:.2f} | {rows:.2f} | {masked - value:+.2f} |")
        for arm in ("masked", "clear"):
            value, seeds = mean(ours[name, arm])
            print(f"| {name} | **ours, {arm}** ({len(ours[name, arm])} runs) | {value:.2f} | {seeds:.2f} | | |")


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    {"make": make, "sklearn": sklearn, "table": table}[command](*rest)
