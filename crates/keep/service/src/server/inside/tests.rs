use super::super::pids::PidNumbering;
use super::super::readers::ReaderStage;
use super::*;
use crate::ask::Window;
use exactop_model::SourceKind;
use exactop_sources::pid_namespace::own;
use exactop_testkit::snapshot;
use std::os::unix::net::UnixStream;

/// Indices of the requests that are refused, by namespace and user.
fn refused(asked: &[(u32, u32)]) -> Vec<usize> {
    let why = too_many(asked.iter().copied());
    why.iter().enumerate().filter_map(|(n, why)| why.as_ref().map(|_| n)).collect()
}

#[test]
fn one_user_cannot_take_all_namespaces() {
    let of = |uid: u32, ids: std::ops::Range<u32>| ids.map(move |id| (id, uid));
    let hostile: Vec<_> = of(1000, 0..20).collect();
    assert_eq!(refused(&hostile), (4..20).collect::<Vec<_>>());
    let then: Vec<_> = of(1000, 0..20).chain(of(1001, 20..22)).chain(of(0, 30..40)).collect();
    assert_eq!(refused(&then), (4..20).collect::<Vec<_>>(), "others have theirs all the same");
    let again = [(1, 7), (2, 7), (3, 7), (4, 7), (1, 7), (4, 8), (5, 7)];
    assert_eq!(refused(&again), [6], "many in one namespace are one");
    let roots: Vec<_> = of(0, 0..18).collect();
    assert_eq!(refused(&roots), [16, 17], "containers are root's");
}

#[test]
fn a_reader_that_only_greeted_costs_nothing() {
    let machine = {
        let text = String::new;
        Machine {
            host: text(),
            boot_id: text(),
            kernel: text(),
            architecture: text(),
            exactop: text(),
        }
    };
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let mut reader = Reader::new(1, ours, (0, PidNumbering::Theirs), 0);
    reader.stage = ReaderStage::Greeted;
    reader.namespace = Some(Arc::new(PidNamespace::from_file(own().unwrap()).unwrap()));
    let mut readers = [reader];
    let (mut insides, mut book) = (Insides::default(), Book::new());
    let mut made = |n, readers: &mut [Reader]| {
        let now = snapshot(SourceKind::Ledger, n, None);
        book.advance(now.clone());
        insides.tell(&machine, now.at_ns, &now, &book, readers).unwrap();
        insides.all.len()
    };
    assert_eq!(made(0, &mut readers), 0);
    readers[0].wants = Some(Window::default());
    assert_eq!(made(1, &mut readers), 1);
    assert_eq!(readers[0].stage, ReaderStage::Follows);
    assert_eq!(made(2, &mut []), 0);
}
