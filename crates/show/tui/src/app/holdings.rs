//! The environment and open files of the open page's process. They are read while the page shows
//! them, and dropped with it.

use super::process::{ProcessPage, Shows};
use super::App;
use exactop_model::frame::holdings::{Holdings, HoldingsRequest, Part};

/// The holdings, or the reason why they could not be read.
#[derive(Clone, Debug)]
pub(crate) struct HoldingsAnswer {
    request: HoldingsRequest,
    answer: Result<Holdings, String>,
}

impl Shows {
    /// The part of the holdings that this view shows.
    pub fn part(self) -> Option<Part> {
        match self {
            Shows::Environment => Some(Part::Environment),
            Shows::Files => Some(Part::Files),
            Shows::Overview | Shows::Calls => None,
        }
    }
}

impl App {
    /// The holdings on the screen; the answer goes to [`App::looked_into`]. An earlier window has
    /// none.
    pub fn looks_into(&self) -> Option<HoldingsRequest> {
        let page = self.process_page().filter(|_| self.past.is_none())?;
        Some(HoldingsRequest { key: page.key, part: page.shows.part()? })
    }

    /// The holdings that must be read now. Drops those that are no longer shown, because they may
    /// be secret.
    pub fn has_to_look_into(&mut self) -> Option<HoldingsRequest> {
        let request = self.looks_into();
        self.holdings.take_if(|answer| Some(answer.request) != request);
        request.filter(|_| self.holdings.is_none())
    }

    /// Takes the result of a read.
    pub fn looked_into(&mut self, request: HoldingsRequest, answer: Result<Holdings, String>) {
        self.holdings = Some(HoldingsAnswer { request, answer });
    }

    /// Holdings of the page's process.
    pub(crate) fn held_by(&self, page: &ProcessPage) -> Option<&Result<Holdings, String>> {
        let answer = self.holdings.as_ref()?;
        let is_its =
            answer.request.key == page.key && Some(answer.request.part) == page.shows.part();
        is_its.then_some(&answer.answer)
    }
}
