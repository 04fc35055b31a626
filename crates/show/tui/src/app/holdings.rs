//! What the process of the open page holds: asked for while it is shown, and forgotten with the page.

use super::process::{ProcessPage, Shows};
use super::App;
use exactop_model::frame::holdings::{Holdings, Part, Wanted};

/// What was told of it, or why nothing was.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    wanted: Wanted,
    told: Result<Holdings, String>,
}

impl Shows {
    /// The part of a process's holdings that it is.
    pub fn part(self) -> Option<Part> {
        match self {
            Shows::Environment => Some(Part::Environment),
            Shows::Files => Some(Part::Files),
            Shows::Overview | Shows::Calls => None,
        }
    }
}

impl App {
    /// Whose holdings are on the screen; the answer goes to [`App::looked_into`]. Of windows that are over
    /// nobody has any.
    pub fn looks_into(&self) -> Option<Wanted> {
        let page = self.process_page().filter(|_| self.past.is_none())?;
        Some(Wanted { key: page.key, part: page.shows.part()? })
    }

    /// Whether nobody has looked yet. What nobody looks at any more is forgotten: it may be secret.
    pub fn has_to_look_into(&mut self) -> Option<Wanted> {
        let wanted = self.looks_into();
        self.holdings.take_if(|told| Some(told.wanted) != wanted);
        wanted.filter(|_| self.holdings.is_none())
    }

    /// Takes what was told.
    pub fn looked_into(&mut self, wanted: Wanted, told: Result<Holdings, String>) {
        self.holdings = Some(Told { wanted, told });
    }

    /// What was told of the page's process.
    pub(crate) fn held_by(&self, page: &ProcessPage) -> Option<&Result<Holdings, String>> {
        let told = self.holdings.as_ref()?;
        let is_its = told.wanted.key == page.key && Some(told.wanted.part) == page.shows.part();
        is_its.then_some(&told.told)
    }
}
