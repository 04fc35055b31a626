//! For commands that print windows: those of a recording.

use clap::Args;
use std::path::PathBuf;

/// For commands that print windows: of a recording instead of new ones.
#[derive(Debug, Args)]
pub struct OfRecording {
    /// Print the windows of a recording (a directory or a file), as long as they are, instead of new ones
    #[arg(long, value_name = "DIR|FILE")]
    pub replay: Option<PathBuf>,
    /// With --replay: from the window that holds this time: '14:03', 'yesterday 14:00', '2h ago', RFC 3339
    #[arg(long, value_name = "TIME", requires = "replay")]
    pub at: Option<String>,
}
