"""house.py -- what check_source.py enforces, as tables: who includes what, how large things may be.

Exceptions are here and nowhere else, each with its reason.
SPDX-License-Identifier: Apache-2.0
"""

FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
PARAMETERS_MAX = 6
KERNEL_PARAMETERS_MAX = 10
ARROWS_UP_MAX = 5  # of server/, of party/: uses of a file that stands further out (order.txt)
COLUMNS_MAX = 100
SCRIPT_COLUMNS_MAX = 120  # shell and python: no formatter breaks their lines, and by hand reads worse
SCRIPTS = ('*.sh', '*.py', 'deploy/vfl', '.ci/run')

# Paths are matched with fnmatch; '*' also crosses '/'.

# Which of our folders each folder may include, besides itself.  The rooms of common/ follow the
# Makefile's LAYERS and are not listed here.
MAY_INCLUDE = {
    'server/train/*': ('common/', 'server/'),
    'server/predict/*': ('common/', 'server/'),
    'server/serve/*': ('common/', 'server/'),
    'server/align/*': ('common/', 'server/'),
    'server/*': ('common/',),
    'party/train/*': ('common/', 'party/'),
    'party/predict/*': ('common/', 'party/'),
    'party/align/*': ('common/', 'party/'),
    'party/*': ('common/',),
    'deploy/tools/*': ('common/', 'deploy/tools/'),
    'tests/lib/*': ('common/base/',),  # linked with the tests of every room
    'tests/sim/*': ('common/', 'server/', 'party/', 'tests/lib/', 'tests/golden/',
                    'tests/unit/program/speaker.h'),
    'tests/interference/*': ('common/', 'server/', 'party/', 'tests/lib/', 'tests/sim/',
                             'tests/unit/program/speaker.h'),
    'tests/fuzz/*': ('common/', 'server/', 'party/', 'tests/lib/', 'tests/sim/',
                     'deploy/tools/audit/seen.h', 'tests/unit/privacy/sealed_ledger.h',
                     'tests/unit/daemon/journals.h'),
    'tests/valgrind/*': ('common/', 'tests/lib/'),
    'tests/bench/*': ('common/', 'server/', 'party/', 'tests/lib/', 'tests/sim/'),
}
UNIT_MAY_INCLUDE = ('tests/lib/', 'tests/golden/')  # a unit test: also its room and those below

# Foreign headers and who may know them.
FOREIGN = {
    'microhttpd.h': ('common/http/http.c',),
    'uv.h': ('common/net/*', 'common/http/*', 'common/reactor/*', 'server/main.c',
             'server/loop.[ch]', 'party/main.c', 'party/loop.[ch]', 'tests/unit/net/*',
             'tests/unit/http/*', 'tests/unit/reactor/*', 'tests/bench/*'),
    'openssl/*': ('common/crypto/*', 'common/net/tls*', 'tests/lib/test_p*',
                  'tests/unit/crypto/*', 'tests/unit/net/*', 'tests/lib/draws.c',
                  'tests/lib/openssl_mem.c', 'tests/sim/test_shortage.c',
                  'tests/fuzz/fuzz_certificate.c', 'tests/bench/*'),
    'sodium.h': ('common/crypto/group.c', 'common/crypto/siphash.c', 'tests/unit/crypto/*'),
    'decaf/point_255.h': ('common/crypto/group.c',),
    'cblas.h': ('common/nn/gemm.c', 'tests/bench/*'),
    'yaml.h': ('common/config/tree.c',),
    'jansson.h': ('common/metrics/report_json.*', 'common/metrics/json_file.*', 'server/queue.c',
                  'server/control.c', 'server/serve/words.[ch]', 'server/serve/figures.c',
                  'deploy/tools/*', 'tests/unit/*', 'tests/sim/*', 'tests/fuzz/fuzz_request.c'),
    'sqlite3.h': ('common/privacy/ledger*', 'common/data/sqlite.c', 'tests/unit/privacy/*',
                  'tests/unit/data/*', 'tests/unit/daemon/test_idlist_hostile.c', 'tests/lib/scratch.c'),
    'utf8proc.h': ('common/data/normal.c',),
    'zlib.h': ('common/data/stream.c', 'tests/lib/scratch.c'),
    'zstd*.h': ('common/data/unzstd.c', 'tests/unit/data/*'),
    'postgresql/*': ('common/data/postgres.c', 'tests/unit/data/*'),
    'sql.h': ('common/data/odbc.c',),
    'sqlext.h': ('common/data/odbc.c',),
    'protobuf-c/*': ('common/wire/*',),
    '*onnx.pb-c.h': ('common/onnx/*', 'tests/unit/onnx/*'),
    '*vfl.pb-c.h': ('common/wire/*', 'tests/unit/wire/*', 'tests/fuzz/*', 'tests/sim/mutate.c'),
    'gsl/*': ('tests/bench/*',),
    'flint/*': ('tests/bench/*',),
    'valgrind/*': ('common/base/public.h', 'tests/valgrind/*'),
    'cmocka.h': ('tests/*',),
}

HEAP = ('malloc', 'calloc', 'realloc', 'reallocarray', 'free', 'strdup', 'strndup', 'aligned_alloc',
        'posix_memalign', 'memalign', 'valloc', 'asprintf', 'vasprintf', 'getline', 'getdelim',
        'alloca', 'open_memstream')
HEAP_ALLOWED = ('common/base/mem.c', 'tests/*')

EXIT = ('exit', '_exit', '_Exit', 'quick_exit', 'abort', 'assert')
EXIT_ALLOWED = ('common/base/check.h', 'server/main.c', 'party/main.c', 'deploy/tools/*',
                'tests/*', 'common/program/keeper.c')  # a forked process leaves without cleaning up twice

# A child would have what the parent keeps to itself, but for the arena of secrets.
FORK = ('fork', 'vfork', 'popen', 'system', 'posix_spawnp?', 'uv_spawn')
# The keeper is forked off before there is anything of that kind.
FORK_ALLOWED = ('deploy/tools/*', 'tests/*', 'common/program/keeper.c')

# Names are opened in one place, which waits for no pipe, follows no link where it must not, and lets
# no child inherit.  mapped.c makes files without a name, the ledger is opened for SQLite, and the
# folders of a CA are written by rules of their own.
OPEN = ('open', 'open64', 'openat', 'creat', 'fopen', 'freopen', 'SSL_CTX_load_verify_locations',
        'SSL_CTX_use_certificate_chain_file', 'SSL_CTX_use_certificate_file', 'gzopen',
        'SSL_CTX_use_PrivateKey_file', 'X509_load_crl_file', 'X509_load_cert_crl_file',
        'BIO_new_file', 'json_load_file')
OPEN_ALLOWED = ('common/base/file.c', 'common/base/mapped.c', 'common/privacy/ledger_*',
                'deploy/tools/pki/*', 'tests/*')

# Inner loops over several matrices or streams: their sizes and strides are parameters.
KERNELS = ('common/nn/*', 'common/pbm/*_kernel*', 'common/pbm/*_avx512*', 'common/field/*')

# Functions that have more all the same.
PARAMETERS_OF = {
    'kex_hkdf': 8,  # the arguments of RFC 5869: four buffers with their lengths
    'secagg_protect': 7,  # two outputs, since payload and check elements are counted apart
    'clear_protect': 7,
    'masked_protect': 7,
    'coded_protect': 7,
    'fedvs_protect': 7,
    'secagg_deal': 7,
    'fedvs_deal': 7,
    'secagg_relay': 8,  # two inputs for the same reason, and who is to blame
    'coded_relay': 8,
    'fedvs_relay': 8,
    'secagg_take': 8,
    'fedvs_take': 8,
    'secagg_open': 7,  # whose upload it is and of which round: a compressor's stream
    'on_request': 8,  # libmicrohttpd's
    'secagg_others': 8,  # what is shown and what is one's own, and their shape
}

# A .c file without a header of its own name, and the header it implements (its first include).
HEADER_OF = {
    'tests/sim/drive.c': 'tests/sim/world.h',
    'common/wire/pack.c': 'common/wire/message.h',
    'common/wire/unpack.c': 'common/wire/message.h',
    'party/train/charge.c': 'party/train/purse.h',
    'party/train/witness.c': 'party/train/purse.h',
    'party/train/share.c': 'party/train/round.h',
}
# The same for all that match.
HEADER_OF_ALL = {'common/config/plan_rules_*.c': 'common/config/plan_rules_groups.h',
                 'common/secagg/encode_*.c': 'common/secagg/encode_ops.h'}
PHASE_HEADER = {'server/': 'server/federation.h', 'server/train/': 'server/train/train.h',
                'party/': 'party/federation.h',
                'party/train/': 'party/train/parts.h',
                'server/predict/': 'server/predict/predict.h',
                'party/predict/': 'party/predict/parts.h',
                'server/align/': 'server/align/align.h',
                'party/align/': 'party/align/parts.h'}  # one file per phase
NO_HEADER = ('*/main.c', 'deploy/tools/*', 'tests/*/test_*', 'tests/fuzz/*', 'tests/bench/*',
             'tests/lib/fuzz_replay.c', 'tests/lib/disk_faults.c', 'tests/lib/draws.c')

# Sources of common/ that are tested through a neighbour, by that neighbour's tests.
TESTED_BY = {
    source: f'tests/unit/{test}.c' for test, sources in {
        'base/test_bits': ('common/base/bits_avx512.c', 'common/base/bits_portable.c'),
        'config/test_config': ('common/config/config_keys.c', 'common/config/reference.c'),
        'config/test_key_set': ('common/config/key_print.c', 'common/config/key_text.c'),
        'config/test_plan': ('common/config/plan_keys.c',),
        'config/test_plan_rules': tuple(f'common/config/plan_rules_{name}.c' for name in
                                        ('sizes', 'sums', 'training')),
        'metrics/test_latency': ('common/metrics/report_latency.c',),
        'data/test_csv': ('common/data/lines.c', 'common/data/source.c', 'common/data/stream.c',
                          'common/data/text.c'),
        'data/test_intake': ('common/data/intake_header.c', 'common/data/order.c',
                             'common/data/levels.c'),
        'config/test_plan_head': ('common/config/plan_rules_head.c',),
        'data/test_postgres': ('common/data/place.c',),
        'data/test_array': ('common/data/counted.c',),
        'data/test_schema': ('common/data/schema_fit.c',),
        'field/test_fp16_vec': ('common/field/fp16_vec_avx512.c',),
        'field/test_fp16_mat': ('common/field/fp16_mat_avx2.c', 'common/field/fp16_mat_avx512.c'),
        'field/test_fp31_mat': ('common/field/fp31_mat_avx2.c', 'common/field/fp31_mat_avx512.c',
                                'common/field/fp31_mat_pack.c', 'common/field/mat.c'),
        'field/test_fp61_mat': ('common/field/fp61_mat_avx2.c', 'common/field/fp61_mat_avx512.c',
                                'common/field/fp61_mat_pack.c'),
        'gauss/test_gauss_kernel': ('common/gauss/gauss_avx512.c',),
        'metrics/test_report': ('common/metrics/report_json.c',),
        'nn/test_layer': tuple(f'common/nn/{name}.c' for name in
                               ('activation', 'add', 'batch_norm', 'conv', 'group_norm', 'gru', 'lstm', 'memory',
                                'norm', 'turn', 'window')),
        'nn/test_layers_golden': ('common/nn/module.c',),
        'nn/test_safetensors': ('common/nn/safetensors_header.c',),
        'program/test_keeper': ('common/program/cell.c',),
        'program/test_program': ('common/program/talk.c',),
        'onnx/test_onnx': ('common/onnx/draft.c', 'common/onnx/layers.c'),
        'pbm/test_pbm_kernel': ('common/pbm/pbm_avx512.c',),
        'privacy/test_ledger': ('common/privacy/ledger_counts.c', 'common/privacy/ledger_print.c'),
        'privacy/test_ledger_mechanism': ('common/privacy/ledger_words.c',),
        'privacy/test_ledger_records': ('common/privacy/ledger_entry.c',
                                        'common/privacy/ledger_ids.c',
                                        'common/privacy/ledger_sets.c'),
        'privacy/test_ledger_schema': ('common/privacy/ledger_file.c',),
        'secagg/test_coded_server': ('common/secagg/uploads.c',),
        'secagg/test_encode': tuple(f'common/secagg/encode_{name}.c' for name in
                                    ('bare', 'fixed', 'gaussian', 'pbm')),
        'secagg/test_fedvs': ('common/secagg/fedvs_party.c',),
        'secagg/test_mask': ('common/secagg/round.c',),
        'wire/test_message': ('common/wire/pack.c',),
    }.items() for source in sources
}

# Files that nobody wrote by hand: no law about form applies.
GENERATED = ('tests/golden/*.h', 'tests/golden/*.json', 'tests/golden/*.txt',
             'tests/fuzz/corpus/*', 'docs/configuration.md', 'LICENSE')

FILE_NAME_WORDS = ('util', 'utils', 'misc', 'helper', 'helpers', 'types')
# A letter in brackets keeps this list from finding itself.
FORBIDDEN_WORDS = (
    r'\bcl[a]ude\b', r'\banthr[o]pic\b', r'\bsub-?ag[e]nts?\b', r'\b(ai|helper|coding) ag[e]nts?\b',
    r'(?<![\w.])/w[o]rk/', r'\.\./sh[a]red\b', r'/tmp/(br[i]ef|b-)',
    r'\bpyp[i]\.org\b', r'\bpythonh[o]sted\.org\b', r'\bnpmj[s]\.(org|com)\b', r'\bcrat[e]s\.io\b',
    r'\brubyg[e]ms\.org\b', r'\bproxy\.gol[a]ng\.org\b', r'\bmav[e]n\.org\b', r'\bdocker\.i[o]\b',
    r'\b(deb|snapshot|security)\.deb[i]an\.org\b', r'\banac[o]nda\.org\b', r'\bnod[e]source\.com\b',
)
UNFINISHED = r'\b(TO[D]O|FI[X]ME|X[X]X|HA[C]K)\b'
SLEEP_C = r'\b(u?sleep|nanosleep|clock_nanosleep|thrd_sleep|uv_sleep)\s*\('
# A shell can only look again and again at what another process does: the one bounded wait is there.
SLEEP_ALLOWED = ('tests/lib/e2e.sh', 'tests/bench/*',  # a benchmark decides nothing
                 'tests/lib/bad_bottom.py')  # that it is slow is what is tested
SLEEP_SCRIPT = r'(^|[;&|(]|\bdo|\bthen|\belse)\s*sleep\s|\btime\.sleep\('

# Grids whose table of all evaluations (vfl experiment's results.csv, packed) does not lie beside them: this list only
# shrinks.  Most were run before tables were kept; what their pages say stands in smaller tables beside them.
GRIDS_WITHOUT_RESULTS = {
    f'docs/experiments/{name}.yaml': reason for reason, names in {
        'there are only means and standard deviations: runs of before tables were kept':
            ('cvfl/grid', 'cvfl-latency/grid', 'fedbcd-credit/grid', 'fedbcd-mnist-stiff/grid',
             'fedbcd-mnist-wide/grid', 'fedbcd-mnist-wide-edge/grid', 'fedpbcd/grid', 'frontier/grid',
             'frontier-gaussian/grid', 'frontier-gaussian/select', 'pbm-har/grid', 'pbm-phishing/grid'),
        'runs.csv.gz, where a run is one row':
            ('advise/grid', 'defaults/choose', 'defaults/grid', 'embedding/grid', 'missing/grid', 'missing/longer',
             'oddities/grid'),
        'it chose how long others run, and its runs were not kept': ('missing/pilot',),
        'stated, and not run yet': ('fedbcd-17/grid', 'fedvs-fusion/grid', 'pbm-har-parties/grid'),
        'not run by daemons: twin.csv.gz has what the twin gave': ('fedbcd-fresh-credit/grid',),
        'it claims nothing': ('demo/grid',),
    }.items() for name in names
}
