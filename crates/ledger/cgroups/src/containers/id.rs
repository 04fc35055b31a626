//! Container ids and names in paths, with the checks that they need before they become part of
//! another path.

/// Number of digits shown for a container without a name, as every runtime does.
const SHORT: usize = 12;

/// True for a container id of Docker, podman, containerd's CRI or CRI-O.
pub fn is_id(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// True if a name contains such an id.
pub fn has_id(name: &str) -> bool {
    name.split(|c| !matches!(c, '0'..='9' | 'a'..='f')).any(is_id)
}

/// The first digits of an id.
pub fn short(id: &str) -> String {
    id.chars().take(SHORT).collect()
}

/// True for a plain name: one path component that cannot leave its directory.
pub fn is_plain(text: &str) -> bool {
    let letter = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'+');
    !text.is_empty() && text.len() <= 128 && !text.starts_with('.') && text.bytes().all(letter)
}

/// True for a pod's UID, from the API server or as the hash of a static pod.
pub fn is_uid(text: &str) -> bool {
    let digit = |b: u8| b.is_ascii_hexdigit() || b == b'-';
    (32..=36).contains(&text.len()) && text.bytes().all(digit)
}
