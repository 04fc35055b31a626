//! The shared libraries of a program, with the dynamic loader.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The libraries of `program`, by the paths under which its loader looks for them. A script or a
/// static program has none.
pub fn needed_by(program: &Path) -> Result<Vec<PathBuf>> {
    if !is_elf(program)? {
        return Ok(Vec::new());
    }
    let ldd = Command::new("ldd").arg(program).output().context("running ldd")?;
    let text = String::from_utf8_lossy(&ldd.stdout);
    if let Some(line) = text.lines().find(|line| line.contains("not found")) {
        anyhow::bail!("{}: missing library: {}", program.display(), line.trim());
    }
    Ok(parse(&text))
}

fn is_elf(program: &Path) -> Result<bool> {
    use std::io::Read;
    let mut start = Vec::new();
    let file = std::fs::File::open(program);
    let file = file.with_context(|| format!("opening {}", program.display()))?;
    file.take(4).read_to_end(&mut start)?;
    Ok(start == b"\x7fELF")
}

/// The absolute path of each line; the vdso has none.
fn parse(ldd: &str) -> Vec<PathBuf> {
    let path_of =
        |line: &str| line.split_whitespace().find(|word| word.starts_with('/')).map(PathBuf::from);
    ldd.lines().filter_map(path_of).collect()
}

#[cfg(test)]
mod tests {
    use super::parse;
    use std::path::PathBuf;

    #[test]
    fn takes_libraries_and_the_loader() {
        let ldd = "\tlinux-vdso.so.1 (0x00007ffc)\n\
                   \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f10)\n\
                   \t/lib64/ld-linux-x86-64.so.2 (0x00007f12)\n";
        let expected = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"];
        assert_eq!(parse(ldd), expected.map(PathBuf::from));
        assert!(parse("\tstatically linked\n").is_empty());
    }
}
