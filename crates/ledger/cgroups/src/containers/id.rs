//! Ids of containers and names in paths: what may become a part of a path of ours.

/// The digits that stand for a container without a name, as every runtime shows it.
const SHORT: usize = 12;

/// Whether it is the id of a container as Docker, podman, containerd's CRI and CRI-O give them.
pub fn is_id(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether there is such an id in a name.
pub fn has_id(name: &str) -> bool {
    name.split(|c| !matches!(c, '0'..='9' | 'a'..='f')).any(is_id)
}

/// Its first digits.
pub fn short(id: &str) -> String {
    id.chars().take(SHORT).collect()
}

/// Whether it is a plain name: one component of a path that hides nothing.
pub fn is_plain(text: &str) -> bool {
    let letter = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'+');
    !text.is_empty() && text.len() <= 128 && !text.starts_with('.') && text.bytes().all(letter)
}

/// Whether it is a pod's UID: of the API server, or the hash of a static pod.
pub fn is_uid(text: &str) -> bool {
    let digit = |b: u8| b.is_ascii_hexdigit() || b == b'-';
    (32..=36).contains(&text.len()) && text.bytes().all(digit)
}
