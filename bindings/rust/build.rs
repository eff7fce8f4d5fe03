// Finds libgpuready-ternary.so, or libgpuready.so, which has the same functions: the file that GPUREADY_TERNARY_LIBRARY
// names, else what pkg-config knows. Links to it, under the names that it has in its folder, lie in OUT_DIR, where
// `cargo test` and `cargo run` look for libraries.
use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{exit, Command};

const VARIABLE: &str = "GPUREADY_TERNARY_LIBRARY";
const PACKAGES: [&str; 2] = ["gpuready-ternary", "gpuready"];

fn by_pkg_config(package: &str) -> Option<PathBuf> {
    let tool = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".into());
    let done = Command::new(tool).args(["--variable=libdir", package]).output().ok()?;
    let folder = String::from_utf8(done.stdout).ok()?;
    let file = Path::new(folder.trim()).join(format!("lib{package}.so"));
    (done.status.success() && file.is_file()).then_some(file)
}

fn found() -> Result<PathBuf, String> {
    match env::var_os(VARIABLE).map(PathBuf::from) {
        Some(file) => fs::canonicalize(&file).map_err(|error| format!("{VARIABLE} names {}: {error}", file.display())),
        None => PACKAGES.into_iter().find_map(by_pkg_config).ok_or_else(|| {
            format!(
                "neither gpuready-ternary.pc nor gpuready.pc was found by pkg-config. Install gpuready's library \
                 (PKG_CONFIG_PATH=PREFIX/lib/pkgconfig if it is in a prefix of its own), or set {VARIABLE} to the \
                 file libgpuready-ternary.so or libgpuready.so"
            )
        }),
    }
}

/// The name that the linker knows, after all names of the file are in `out`.
fn link_into(out: &Path, library: &Path) -> Result<String, String> {
    let file = fs::canonicalize(library).map_err(|error| error.to_string())?;
    let name = library.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let plain = name
        .strip_prefix("lib")
        .and_then(|name| name.split_once(".so"))
        .map(|(plain, _)| plain.to_owned())
        .ok_or_else(|| format!("{} is not named libNAME.so", library.display()))?;
    let mut names = vec![format!("lib{plain}.so")];
    for entry in fs::read_dir(file.parent().unwrap()).map_err(|error| error.to_string())?.flatten() {
        if fs::canonicalize(entry.path()).map_or(false, |same| same == file) {
            names.extend(entry.file_name().into_string());
        }
    }
    for name in names {
        let link = out.join(name);
        let _ = fs::remove_file(&link);
        symlink(&file, &link).map_err(|error| format!("{}: {error}", link.display()))?;
    }
    Ok(plain)
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for name in [VARIABLE, "PKG_CONFIG", "PKG_CONFIG_PATH"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    let linked = found().and_then(|library| {
        println!("cargo:rerun-if-changed={}", library.display());
        link_into(&out, &library)
    });
    match linked {
        Ok(name) => {
            println!("cargo:rustc-link-search=native={}", out.display());
            println!("cargo:rustc-link-lib=dylib={name}");
        }
        Err(text) => {
            eprintln!("gpuready-ternary: {text}");
            exit(1);
        }
    }
}
