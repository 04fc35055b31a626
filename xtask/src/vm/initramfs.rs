//! The guest's file system: busybox, an init, and the files of the run, in one archive.

use super::guest::Guest;
use super::{archive::Archive, libraries, systemd};
use anyhow::{bail, Context, Result};
use std::fs::{self, File};
use std::io::BufWriter;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The guest's first program; `@TOKEN@` and `@COMMAND@` are replaced for each run.
const INIT: &str = include_str!("../../guest/init.sh");

/// Root, the bus's own user, and a user without rights.
const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\n\
                      messagebus:x:100:100::/nonexistent:/bin/false\n\
                      user:x:1000:1000:user:/tmp:/bin/sh\n";
const GROUP: &str = "root:x:0:\nmessagebus:x:100:\nuser:x:1000:\n";

/// Mount points and directories that programs expect.
const DIRECTORIES: [&str; 8] = ["/proc", "/sys", "/dev", "/tmp", "/run", "/root", "/etc", "/test"];

/// An image in a file without a name: it disappears with this process, however that ends.
pub struct Image(File);

impl Image {
    /// A path for another program, valid while this value lives.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd()))
    }
}

/// Writes the image for one run; for a moment it has a name in `dir`. Making it takes less time
/// than reading its files, so it is not cached.
pub fn build(guest: &Guest, dir: &Path) -> Result<Image> {
    fs::create_dir_all(dir)?;
    let path = dir.join(format!("{}.cpio", guest.token));
    let image = File::create(&path).with_context(|| format!("creating {}", path.display()))?;
    fs::remove_file(&path)?;
    let mut archive = Archive::new(BufWriter::new(image));
    for dir in DIRECTORIES {
        archive.directory(dir)?;
    }
    archive.device("/dev/console", 5, 1)?;
    archive.device("/dev/null", 1, 3)?;
    add(&mut archive, &busybox()?, "/bin/busybox")?;
    archive.file("/etc/passwd", 0o644, PASSWD.as_bytes())?;
    archive.file("/etc/group", 0o644, GROUP.as_bytes())?;
    match guest.systemd {
        true => with_systemd(&mut archive, guest)?,
        false => {
            let init = INIT.replace("@TOKEN@", &guest.token);
            let init = init.replace("@COMMAND@", &guest.shell_line());
            archive.file("/init", 0o755, init.as_bytes())?;
        }
    }
    for (host, place) in &guest.files {
        add(&mut archive, host, place)?;
    }
    let image = archive.finish().context("writing the initramfs")?;
    Ok(Image(image.into_inner().context("writing the initramfs")?))
}

/// Adds systemd as the first program, and its files.
fn with_systemd(archive: &mut Archive<BufWriter<File>>, guest: &Guest) -> Result<()> {
    archive.file("/init", 0o755, systemd::INIT.as_bytes())?;
    archive.file("/command.sh", 0o755, systemd::command(guest).as_bytes())?;
    for file in systemd::files()? {
        add(archive, file, &file.to_string_lossy())?;
    }
    for (name, text) in systemd::UNITS {
        archive.file(&format!("/etc/systemd/system/{name}"), 0o644, text.as_bytes())?;
    }
    for (name, text) in systemd::USER_UNITS {
        archive.file(&format!("/etc/systemd/user/{name}"), 0o644, text.as_bytes())?;
    }
    Ok(())
}

fn busybox() -> Result<PathBuf> {
    let places = ["/bin/busybox", "/usr/bin/busybox"];
    let found = places.iter().map(Path::new).find(|path| path.exists());
    match found {
        Some(path) if libraries::needed_by(path)?.is_empty() => Ok(path.to_owned()),
        _ => bail!("the guest needs a static busybox: {}", super::INSTALL),
    }
}

/// Adds a file with its libraries, or a whole directory.
fn add(archive: &mut Archive<BufWriter<File>>, host: &Path, guest: &str) -> Result<()> {
    let reading = || format!("reading {}", host.display());
    let kind = fs::metadata(host).with_context(reading)?;
    if kind.is_dir() {
        archive.directory(guest)?;
        for entry in fs::read_dir(host).with_context(reading)? {
            let entry = entry?;
            let name = entry.file_name();
            add(archive, &entry.path(), &format!("{guest}/{}", name.to_string_lossy()))?;
        }
        return Ok(());
    }
    let mode = kind.permissions().mode();
    archive.file(guest, mode, &fs::read(host).with_context(reading)?)?;
    if mode & 0o111 == 0 {
        return Ok(());
    }
    for library in libraries::needed_by(host)? {
        let place = library.to_string_lossy();
        if !archive.has(&place) {
            archive.file(&place, 0o755, &fs::read(&library)?)?;
        }
    }
    Ok(())
}
