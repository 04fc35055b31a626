//! How many are let in: nobody takes all places, and some are left for root.

/// Places of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    pub all: usize,
    /// So many of one user, if that is not root.
    pub of_one: usize,
    /// So many are root's alone.
    pub for_root: usize,
}

/// Who read.
pub const READERS: Shares = Shares { all: 128, of_one: 32, for_root: 16 };
/// Who look at what is counted only then: of each what they have not asked for yet is kept.
pub const LOOKERS: Shares = Shares { all: 16, of_one: 4, for_root: 4 };

/// Whether a user has what root has here: root, and whoever the daemon runs as.
pub fn is_root(uid: u32) -> bool {
    uid == 0 || uid == rustix::process::geteuid().as_raw()
}

impl Shares {
    /// Whether one more of this user is let in beside those of these users.
    ///
    /// # Errors
    /// Why not.
    pub fn one_more(
        &self,
        there: impl Iterator<Item = u32>,
        uid: u32,
        what: &str,
    ) -> Result<(), String> {
        let there: Vec<u32> = there.collect();
        let Shares { all, of_one, for_root } = *self;
        if there.len() >= all {
            return Err(format!("{all} {what} already"));
        }
        if is_root(uid) {
            return Ok(());
        }
        if there.iter().filter(|&&other| other == uid).count() >= of_one {
            return Err(format!("{of_one} of your {what} already"));
        }
        let others = there.iter().filter(|&&other| !is_root(other)).count();
        match others >= all - for_root {
            true => Err(format!("{others} {what} already, and other places are root's")),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two who are neither root nor who runs this.
    const USERS: [u32; 5] =
        [4_000_000_001, 4_000_000_002, 4_000_000_003, 4_000_000_004, 4_000_000_005];

    /// Who got in of so many who came.
    fn filled(shares: Shares, come: impl Iterator<Item = u32>) -> Vec<u32> {
        let mut there = Vec::new();
        for uid in come {
            if shares.one_more(there.iter().copied(), uid, "read").is_ok() {
                there.push(uid);
            }
        }
        there
    }

    #[test]
    fn one_user_has_a_share_and_all_of_them_leave_some_for_root() {
        for shares in [READERS, LOOKERS] {
            let of_one = filled(shares, std::iter::repeat_n(USERS[0], 1000));
            assert_eq!(of_one.len(), shares.of_one);
            assert!(shares.one_more(of_one.iter().copied(), USERS[1], "read").is_ok());
            let of_all = filled(shares, USERS.into_iter().cycle().take(1000));
            assert_eq!(of_all.len(), shares.all - shares.for_root);
            let why = shares.one_more(of_all.iter().copied(), 9, "read").unwrap_err();
            assert!(why.contains("root's"), "{why}");
            let with_root = filled(shares, of_all.into_iter().chain(std::iter::repeat_n(0, 1000)));
            assert_eq!(with_root.len(), shares.all, "root is let in, up to all there are");
        }
    }
}
