//! Limits of connections: no user can take all, and some are reserved for root.

/// Limits of one kind of connection.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    pub all: usize,
    /// Most for one user except root.
    pub of_one: usize,
    /// Reserved for root.
    pub for_root: usize,
}

/// Limits of readers.
pub const READERS: Shares = Shares { all: 128, of_one: 32, for_root: 16 };
/// Limits of on-demand readers: the daemon keeps pending figures for each.
pub const LOOKERS: Shares = Shares { all: 16, of_one: 4, for_root: 4 };

/// True for root and for the daemon's user.
pub fn is_root(uid: u32) -> bool {
    uid == 0 || uid == rustix::process::geteuid().as_raw()
}

impl Shares {
    /// Checks if one more connection of `uid` is allowed beside those of the users in `there`.
    ///
    /// # Errors
    /// The limit that is reached.
    pub fn one_more(
        &self,
        there: impl Iterator<Item = u32>,
        uid: u32,
        what: &str,
    ) -> Result<(), String> {
        let there: Vec<u32> = there.collect();
        let Shares { all, of_one, for_root } = *self;
        if there.len() >= all {
            return Err(format!(
                "{all} {what} already, the most of this daemon: wait until one ends"
            ));
        }
        if is_root(uid) {
            return Ok(());
        }
        if there.iter().filter(|&&other| other == uid).count() >= of_one {
            return Err(format!(
                "{of_one} {what} already for your user, the most of one user: close one"
            ));
        }
        let others = there.iter().filter(|&&other| !is_root(other)).count();
        match others >= all - for_root {
            true => Err(format!(
                "{others} {what} already, and root has the other places: wait until one ends"
            )),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Users other than root and the user that runs this.
    const USERS: [u32; 5] =
        [4_000_000_001, 4_000_000_002, 4_000_000_003, 4_000_000_004, 4_000_000_005];

    /// The users that got in, of those that came.
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
    fn users_have_limits_and_some_places_are_reserved_for_root() {
        for shares in [READERS, LOOKERS] {
            let of_one = filled(shares, std::iter::repeat_n(USERS[0], 1000));
            assert_eq!(of_one.len(), shares.of_one);
            assert!(shares.one_more(of_one.iter().copied(), USERS[1], "read").is_ok());
            let of_all = filled(shares, USERS.into_iter().cycle().take(1000));
            assert_eq!(of_all.len(), shares.all - shares.for_root);
            let why = shares.one_more(of_all.iter().copied(), 9, "read").unwrap_err();
            assert!(why.contains("root has the other places"), "{why}");
            let with_root = filled(shares, of_all.into_iter().chain(std::iter::repeat_n(0, 1000)));
            assert_eq!(with_root.len(), shares.all, "root is let in, up to all there are");
        }
    }
}
