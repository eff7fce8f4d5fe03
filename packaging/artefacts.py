#!/usr/bin/env python3
"""Packages of a release, made of a staged installation without any network or packaging tool: the same input
gives the same bytes.

usage: artefacts.py KIND --out FOLDER --version V --machine x86_64|aarch64 --epoch SECONDS
         [--stage PREFIX] [--platform MACHINE PREFIX BASE]...
KIND: notices, tarball, wheel, npm, image or sbom; notices go first, as the others hold them. PREFIX holds bin/, share/
and so on. An image is for one platform or more; BASE is the root that it begins with. Prints the file that it wrote.
"""
import argparse
import base64
import gzip
import hashlib
import io
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import time
import zipfile

import python_package

SOURCE = pathlib.Path(__file__).resolve().parent.parent
SUMMARY = "Is every GPU in this machine ready for work? Answers with proof"
LICENCE = "MIT"
NOTICES = "share/doc/gpuready/THIRD-PARTY.txt"  # of the staged installation


def library_packages():
    """Debian's package of each library in the program."""
    return dict(line.split() for line in (SOURCE / "packaging/library_packages.txt").read_text().splitlines()
                if not line.startswith("#"))


def runtime_packages():
    """What the compiler links in: (library, package, licence), by the package that its archive here is of."""
    for library, archive, licence in (("libstdc++", "libstdc++.a", "GPL-3.0-or-later WITH GCC-exception-3.1"),
                                      ("libgcc", "libgcc.a", "GPL-3.0-or-later WITH GCC-exception-3.1"),
                                      ("glibc", "libc.a", "LGPL-2.1-or-later")):
        path = output("c++", f"-print-file-name={archive}").strip()
        yield library, output("dpkg", "-S", pathlib.Path(path).resolve()).partition(": ")[0], licence


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def notices(_):
    """Licences of the libraries in the program, as the packages have them that it was built from."""
    packages = {**library_packages(), **{library: package.partition(":")[0] for library, package, _ in runtime_packages()}}
    texts = (f"{library} (Debian's {package})\n{'=' * 72}\n{pathlib.Path(f'/usr/share/doc/{package}/copyright').read_text()}\n"
             for library, package in packages.items())
    return pathlib.Path(NOTICES).name, "".join(texts).encode()


def tar(entries, epoch):
    """An uncompressed tar of (name, bytes | link target as str | None for a folder, mode)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content, mode in sorted(entries):
            info = tarfile.TarInfo(name)
            info.mtime, info.mode = epoch, mode
            if content is None:
                info.type = tarfile.DIRTYPE
            elif isinstance(content, str):
                info.type, info.linkname = tarfile.SYMTYPE, content
            else:
                info.size = len(content)
            archive.addfile(info, io.BytesIO(content) if isinstance(content, bytes) else None)
    return out.getvalue()


def compressed(data):
    return gzip.compress(data, 9, mtime=0)


def tree(folder, prefix):
    """The entries of a folder for tar()."""
    for path in folder.rglob("*"):
        name = prefix + str(path.relative_to(folder))
        if path.is_symlink():
            yield name, str(path.readlink()), 0o777
        elif path.is_dir():
            yield name, None, 0o755
        elif path.is_file():
            yield name, path.read_bytes(), 0o755 if path.stat().st_mode & 0o100 else 0o644


def tarball(options):
    name = f"gpuready-{options.version}-linux-{options.machine}"
    return f"{name}.tar.gz", compressed(tar(tree(options.stage, name + "/"), options.epoch))


def readme():
    """What an index shows: the document up to its table of contents, with links that lead to files left as text."""
    text = (SOURCE / "README.md").read_text().partition("\n| You want to")[0]
    return re.sub(r"\[([^\]]*)\]\((?!https?:)[^)]*\)", r"\1", text)


def wheel(options):
    """PEP 427. The program is a script of the wheel, so an installer puts it on PATH as it is."""
    info, tag = f"gpuready-{options.version}.dist-info", f"py3-none-manylinux_2_28_{options.machine}"
    metadata = (f"Metadata-Version: 2.1\nName: gpuready\nVersion: {options.version}\nSummary: {SUMMARY}\n"
                f"License: {LICENCE}\nRequires-Python: >=3.8\nClassifier: Operating System :: POSIX :: Linux\n"
                f"Classifier: Typing :: Typed\nDescription-Content-Type: text/markdown\n\n{readme()}")
    libraries = [path for path in options.stage.glob("lib/libgpuready-ternary.so.*") if not path.is_symlink()]
    files = {
        **python_package.files(),
        **{"gpuready/ternary/libgpuready-ternary.so": library.read_bytes() for library in libraries[:1]},
        f"gpuready-{options.version}.data/scripts/gpuready": (options.stage / "bin/gpuready").read_bytes(),
        f"{info}/licenses/LICENSE": (SOURCE / "LICENSE").read_bytes(),
        f"{info}/licenses/THIRD-PARTY.txt": (options.stage / NOTICES).read_bytes(),
        f"{info}/METADATA": metadata.encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: gpuready\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
    }
    digest = {name: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
              for name, data in files.items()}
    record = "".join(f"{name},sha256={digest[name]},{len(data)}\n" for name, data in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    out = io.BytesIO()
    date = time.gmtime(options.epoch)[:6]
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, date)
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            entry.external_attr = (0o100755 if "/scripts/" in name else 0o100644) << 16
            archive.writestr(entry, data)
    return f"gpuready-{options.version}-{tag}.whl", out.getvalue()


def npm(options):
    """For the postinstall scripts of packages with GPU code: node_modules/.bin/gpuready is the program."""
    cpu = {"x86_64": "x64", "aarch64": "arm64"}[options.machine]
    package = {"name": f"gpuready-linux-{cpu}", "version": options.version, "description": SUMMARY, "license": LICENCE,
               "os": ["linux"], "cpu": [cpu], "libc": ["glibc"], "bin": {"gpuready": "bin/gpuready"}}
    entries = [("package/package.json", (json.dumps(package, indent=2) + "\n").encode(), 0o644),
               ("package/README.md", readme().encode(), 0o644),
               ("package/LICENSE", (SOURCE / "LICENSE").read_bytes(), 0o644),
               ("package/THIRD-PARTY.txt", (options.stage / NOTICES).read_bytes(), 0o644),
               ("package/bin/gpuready", (options.stage / "bin/gpuready").read_bytes(), 0o755)]
    return f"gpuready-linux-{cpu}-{options.version}.tgz", compressed(tar(entries, options.epoch))


def image(options):
    """An OCI image layout in a tar, for podman load and skopeo: one name, whose index has an image of each platform."""
    blobs = {}
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(options.epoch))

    def blob(data, media):
        digest = hashlib.sha256(data).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = data
        return {"mediaType": media, "digest": f"sha256:{digest}", "size": len(data)}

    def document(content):
        return blob(json.dumps(content).encode(), content["mediaType"])

    def one(machine, stage, base):
        stage = pathlib.Path(stage)
        program = [("usr", None, 0o755), ("usr/bin", None, 0o755),
                   ("usr/bin/gpuready", (stage / "bin/gpuready").read_bytes(), 0o755),
                   ("usr/share", None, 0o755), ("usr/share/doc", None, 0o755), ("usr/share/doc/gpuready", None, 0o755),
                   ("usr/" + NOTICES, (stage / NOTICES).read_bytes(), 0o644)]
        layers = [tar(tree(pathlib.Path(base), ""), options.epoch), tar(program, options.epoch)]
        platform = {"architecture": {"x86_64": "amd64", "aarch64": "arm64"}[machine], "os": "linux"}
        config = {
            "created": created, **platform,
            "config": {"Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                               "NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=compute,utility"],
                       "Entrypoint": ["/usr/bin/gpuready"], "Cmd": ["check"],
                       "Labels": {"org.opencontainers.image.version": options.version,
                                  "org.opencontainers.image.licenses": LICENCE}},
            "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest() for layer in layers]},
            "history": [{"created": created, "comment": text} for text in ("Debian's libc6", "gpuready")],
        }
        manifest = {
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": blob(json.dumps(config).encode(), "application/vnd.oci.image.config.v1+json"),
            "layers": [blob(compressed(layer), "application/vnd.oci.image.layer.v1.tar+gzip") for layer in layers],
        }
        return {**document(manifest), "platform": platform}

    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json"}
    platforms = document({**index, "manifests": [one(*platform) for platform in options.platform]})
    named = {**platforms, "annotations": {  # the latter is what podman, docker and ctr call it when they load it
        "org.opencontainers.image.ref.name": options.version, "io.containerd.image.name": "localhost/gpuready:latest"}}
    files = {**blobs, "index.json": json.dumps({**index, "manifests": [named]}).encode(),
             "oci-layout": b'{"imageLayoutVersion": "1.0.0"}'}
    name = f"gpuready-{options.version}-oci.tar"
    return name, tar([(path, data, 0o644) for path, data in files.items()], options.epoch)


def licence_of(text):
    """As CycloneDX has it; public domain and pci.ids' choice have no identifier of SPDX."""
    if " WITH " in text:
        return {"expression": text}
    return {"license": {"name" if " " in text else "id": text}}


def sbom(options):
    """CycloneDX 1.5: the libraries in the programs, by the packages that they were built from."""
    table = re.findall(r"(?m)^\| ([^|]+?) \| [^|]+ \| (static|headers[^|]*|data) \| ([^|]+?) \|$",
                       (SOURCE / "docs/dependencies.md").read_text())
    package_of = library_packages()
    if {name.replace(" ", "-") for name, _, _ in table} != set(package_of):
        sys.exit("artefacts: docs/dependencies.md and packaging/library_packages.txt name different libraries")
    used = [(name, how, licence, package_of[name.replace(" ", "-")]) for name, how, licence in table]
    used += [(name, "static; only in gpuready-guest" if name == "glibc" else "static", licence, package)
             for name, package, licence in runtime_packages()]
    components = []
    for name, how, licence, package in used:
        version = output("dpkg-query", "-W", "-f=${Version}", package)
        package = package.partition(":")[0]
        components.append({"type": "library", "name": name, "version": version, "description": how,
                           "licenses": [licence_of(licence)],
                           "purl": f"pkg:deb/debian/{package}@{version}".replace("+", "%2B")})
    document = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
                "metadata": {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(options.epoch)),
                             "component": {"type": "application", "name": "gpuready", "version": options.version,
                                           "licenses": [{"license": {"id": LICENCE}}]}},
                "components": components}
    return f"gpuready-{options.version}.cdx.json", (json.dumps(document, indent=2) + "\n").encode()


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("kind", choices=["notices", "tarball", "wheel", "npm", "image", "sbom"])
    for name in ("stage", "out"):
        parser.add_argument("--" + name, type=pathlib.Path)
    parser.add_argument("--platform", nargs=3, action="append")
    for name in ("version", "machine"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--epoch", type=int, required=True)
    options = parser.parse_args()
    name, data = globals()[options.kind](options)
    (options.out / name).write_bytes(data)
    print(options.out / name)


main()
