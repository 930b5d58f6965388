#!/usr/bin/env python3
"""Writes tests/golden/sign.h: what the openssl command line says of one Ed25519 key.

The key is that of RFC 8032, 7.1, TEST 1; its signature of label || 0x00 || message and the SHA-256 of its
SubjectPublicKeyInfo come from the openssl program, not from this project's code.
Run from the project's root: /usr/bin/python3 tests/golden/gen_sign.py

SPDX-License-Identifier: Apache-2.0
"""
import base64
import hashlib
import os
import subprocess
import tempfile

SEED = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
LABEL = b"vfl/hello/1"
MESSAGE = b"six columns of phishing"


def run(*words):
    return subprocess.run(words, check=True, capture_output=True).stdout


def array(name, data):
    rows = [data[i : i + 12] for i in range(0, len(data), 12)]
    body = ",\n".join("    " + ", ".join(f"0x{b:02x}" for b in row) for row in rows)
    return f"static const uint8_t {name}[{len(data)}] = {{\n{body}}};\n"


def main():
    der = bytes.fromhex("302e020100300506032b657004220420") + SEED
    pem = b"-----BEGIN PRIVATE KEY-----\n" + base64.b64encode(der) + b"\n-----END PRIVATE KEY-----\n"
    with tempfile.TemporaryDirectory() as tmp:
        key, text = os.path.join(tmp, "key.pem"), os.path.join(tmp, "text")
        with open(key, "wb") as f:
            f.write(pem)
        with open(text, "wb") as f:
            f.write(LABEL + b"\0" + MESSAGE)
        spki = run("openssl", "pkey", "-in", key, "-pubout", "-outform", "DER")
        sig = run("openssl", "pkeyutl", "-sign", "-inkey", key, "-rawin", "-in", text)
    pem_lines = "\n".join(f'    "{line}\\n"' for line in pem.decode().splitlines())
    with open("tests/golden/sign.h", "w") as f:
        f.write("/* sign.h -- written by gen_sign.py; do not edit.  SPDX-License-Identifier: Apache-2.0 */\n\n")
        f.write("#include <stdint.h>\n\n")
        f.write(f"static const char golden_sign_pem[] =\n{pem_lines};\n\n")
        f.write(f'static const char golden_sign_label[] = "{LABEL.decode()}";\n')
        f.write(f'static const char golden_sign_message[] = "{MESSAGE.decode()}";\n\n')
        f.write(array("golden_sign_public", spki[-32:]) + "\n")
        f.write(array("golden_sign_spki_sha256", hashlib.sha256(spki).digest()) + "\n")
        f.write(array("golden_sign_signature", sig))


main()
