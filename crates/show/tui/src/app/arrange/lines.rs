//! The lines of a frame: a list with exited groups below their parents, or a tree with the sum of
//! each branch. No I/O.

use super::line::{Fold, Line, RowPlace};
use super::rules::Rules;
use super::subject::Subject;
use exactop_model::columns::sort;
use exactop_model::columns::Rounding;
use exactop_model::frame::value::Datum;
use exactop_model::{Counter, Missing, Row, RowKind, Value};
use std::collections::HashMap;

/// In front of an exited group without a parent: the row above it is not its parent.
const ALONE: &str = "╶ ";

/// The lines of the selected rows, in their order.
pub(super) fn lines(chosen: &[Subject], rules: &Rules) -> Vec<Line> {
    match rules.tree {
        true => tree(chosen, rules),
        false => flat(chosen, rules),
    }
}

/// Rows of leaders by process. Exited groups and, in the tree, children stand below them.
fn leaders<'a>(shown: impl Iterator<Item = &'a Subject<'a>>) -> HashMap<u32, RowPlace> {
    shown
        .filter(|of| of.row.kind == RowKind::Process || of.row.key.is_leader())
        .map(|of| (of.row.key.tgid, of.at))
        .collect()
}

/// The kernel does not report the user of exited tasks. With a user filter, an exited group shows
/// only below a parent that passes.
fn flat(chosen: &[Subject], rules: &Rules) -> Vec<Line> {
    let leaders = leaders(chosen.iter().filter(|of| of.is_live() && of.kept));
    let mut below: HashMap<u32, Vec<&Subject>> = HashMap::new();
    let mut heads: Vec<&Subject> = Vec::new();
    for of in chosen.iter().filter(|of| of.kept) {
        let ppid = of.row.ident.ppid;
        match of.row.kind {
            RowKind::Exited if leaders.contains_key(&ppid) => {
                below.entry(ppid).or_default().push(of)
            }
            RowKind::Exited if rules.user.is_some() => {}
            _ => heads.push(of),
        }
    }
    let mut lines = Vec::with_capacity(chosen.len());
    for head in heads {
        let is_living = head.row.kind != RowKind::Exited;
        lines.push(line(head, if is_living { String::new() } else { ALONE.into() }));
        let tgid = head.row.key.tgid;
        let is_leader = leaders.get(&tgid) == Some(&head.at);
        if let Some(mut groups) = is_leader.then(|| below.remove(&tgid)).flatten() {
            by_cpu(&mut groups);
            push_exited(&mut lines, &groups, "", true);
        }
    }
    lines
}

fn line(of: &Subject, prefix: String) -> Line {
    Line {
        at: of.at,
        prefix,
        fold: Fold::Leaf,
        cpu_tenths: of.share.own,
        cpu_plus_tenths: of.share.with_exited,
    }
}

/// Exited groups of one parent, largest first.
fn by_cpu(groups: &mut [&Subject]) {
    groups.sort_by_key(|of| {
        let (RowPlace::Live(place) | RowPlace::Exited(place) | RowPlace::Gone(place)) = of.at;
        (std::cmp::Reverse(of.row.delta.get(Counter::RunNs)), of.row.ident.comm, place)
    });
}

fn tree(chosen: &[Subject], rules: &Rules) -> Vec<Line> {
    let (mut nodes, orphans) = grow(chosen, rules);
    let order = walk(&nodes);
    sum_branches(&mut nodes, &order);
    draw(rules, &nodes, orphans)
}

/// Depth to which branches are drawn; deeper rows are drawn at this depth.
const MAX_DRAWN_DEPTH: usize = 24;

struct Node<'a> {
    of: &'a Subject<'a>,
    parent: Option<usize>,
    children: Vec<usize>,
    exited: Vec<&'a Subject<'a>>,
    /// CPU time of the branch; `None`: that of a row in it is unknown.
    branch_ns: Option<u64>,
    /// The same in tenths of a per cent.
    branch_tenths: Option<i64>,
    kept: bool,
}

/// Linked nodes for all rows in order, and the exited groups without a living ancestor.
fn grow<'a>(chosen: &'a [Subject<'a>], rules: &Rules) -> (Vec<Node<'a>>, Vec<&'a Subject<'a>>) {
    let living = || chosen.iter().filter(|of| of.is_live());
    let leader_of = leaders(living());
    let place: HashMap<RowPlace, usize> = living().enumerate().map(|(n, of)| (of.at, n)).collect();
    let node_of = |process: u32| leader_of.get(&process).map(|leader| place[leader]);
    let node = |of: &'a Subject<'a>| Node {
        of,
        parent: node_of(parent_process(of.row)),
        children: Vec::new(),
        exited: Vec::new(),
        branch_ns: run_with_exited_ns(of.row),
        branch_tenths: match of.row.children {
            Some(_) => of.share.with_exited,
            None => of.share.own,
        },
        kept: of.kept,
    };
    let mut nodes: Vec<Node> = living().map(node).collect();
    for n in 0..nodes.len() {
        match nodes[n].parent {
            Some(parent) if parent != n => nodes[parent].children.push(n),
            _ => nodes[n].parent = None,
        }
    }
    let mut orphans = Vec::new();
    for of in chosen.iter().filter(|of| !of.is_live()) {
        let parent = node_of(of.row.ident.ppid);
        let has_parent = parent.is_some_and(|n| nodes[n].kept);
        match parent {
            _ if !(has_parent || rules.user.is_none()) => {}
            Some(n) => nodes[n].exited.push(of),
            None => orphans.push(of),
        }
    }
    nodes.iter_mut().for_each(|node| by_cpu(&mut node.exited));
    (nodes, orphans)
}

/// CPU time of a row and, where exits are seen, of tasks that exited below it.
fn run_with_exited_ns(row: &Row) -> Option<u64> {
    let own = row.delta.get(Counter::RunNs)?;
    match &row.children {
        Some(exited) => own.checked_add(exited.get(Counter::RunNs)?),
        None => Some(own),
    }
}

/// The process under which a row stands: a thread's is its leader.
fn parent_process(row: &Row) -> u32 {
    if row.key.is_leader() {
        row.ident.ppid
    } else {
        row.key.tgid
    }
}

/// An order with parents before children. Rows read at different instants may form a ring, which
/// the walk enters once, at any row.
fn walk(nodes: &[Node]) -> Vec<usize> {
    let mut seen = vec![false; nodes.len()];
    let mut order = Vec::with_capacity(nodes.len());
    let roots = (0..nodes.len()).filter(|&n| nodes[n].parent.is_none());
    for start in roots.chain(0..nodes.len()) {
        let mut stack = vec![start];
        while let Some(n) = stack.pop() {
            if !std::mem::replace(&mut seen[n], true) {
                order.push(n);
                stack.extend(nodes[n].children.iter().rev());
            }
        }
    }
    order
}

/// Adds every branch to its parent's, and keeps the ancestors of rows that are kept.
fn sum_branches(nodes: &mut [Node], order: &[usize]) {
    for &n in order.iter().rev() {
        nodes[n].kept |= !nodes[n].exited.is_empty();
        if let Some(parent) = nodes[n].parent {
            let (ns, tenths) = (nodes[n].branch_ns, nodes[n].branch_tenths);
            let above = &mut nodes[parent];
            above.branch_ns = above.branch_ns.zip(ns).and_then(|(a, b)| a.checked_add(b));
            above.branch_tenths = above.branch_tenths.zip(tenths).map(|(a, b)| a + b);
            nodes[parent].kept |= nodes[n].kept;
        }
    }
}

struct Visit {
    node: usize,
    depth: usize,
    /// Text in front of the rows of this branch.
    stem: String,
    last: bool,
}

/// Sort key of a branch: its CPU time, or the change of it.
fn branch_value(node: &Node) -> Value {
    match node.of.branch_then {
        None => Value::ns(node.branch_ns, Missing::Source),
        Some(then) => match node.branch_tenths.zip(then) {
            Some((now, then)) => Value::Known(Datum::Int(now - then)),
            None => Value::Missing(Missing::Source),
        },
    }
}

fn draw(rules: &Rules, nodes: &[Node], orphans: Vec<&Subject>) -> Vec<Line> {
    let mut lines = Vec::with_capacity(nodes.len());
    let mut seen = vec![false; nodes.len()];
    let column = rules.sort.column;
    let sorts_cpu = column.of_branch || column.rounding == Rounding::WithExited;
    let in_order = |list: &mut Vec<usize>| {
        if sorts_cpu {
            let value = |n: usize| branch_value(&nodes[n]);
            list.sort_by(|&a, &b| sort::compare(&value(a), &value(b), rules.sort.descending));
        }
    };
    let mut roots: Vec<usize> =
        (0..nodes.len()).filter(|&n| nodes[n].parent.is_none() && nodes[n].kept).collect();
    in_order(&mut roots);
    let rings = (0..nodes.len()).filter(|&n| nodes[n].parent.is_some() && nodes[n].kept);
    for start in roots.into_iter().chain(rings) {
        let mut stack = vec![Visit { node: start, depth: 0, stem: String::new(), last: true }];
        while let Some(visit) = stack.pop() {
            if std::mem::replace(&mut seen[visit.node], true) {
                continue;
            }
            let node = &nodes[visit.node];
            let mut children: Vec<usize> =
                node.children.iter().copied().filter(|&c| nodes[c].kept).collect();
            let key = &node.of.row.key;
            let fold = match rules.folded.is_some_and(|folded| folded.contains(key)) {
                true => Fold::Folded(fold_away(nodes, visit.node, &mut seen)),
                false => Fold::Open,
            };
            let is_leaf = children.is_empty() && node.exited.is_empty();
            let below =
                push_node(&mut lines, node, &visit, if is_leaf { Fold::Leaf } else { fold });
            if matches!(fold, Fold::Folded(_)) {
                continue;
            }
            in_order(&mut children);
            push_exited(&mut lines, &node.exited, &below, children.is_empty());
            let last = children.len().saturating_sub(1);
            stack.extend(children.iter().enumerate().rev().map(|(i, &c)| Visit {
                node: c,
                depth: visit.depth + 1,
                stem: below.clone(),
                last: i == last,
            }));
        }
    }
    lines.extend(orphans.into_iter().map(|of| line(of, ALONE.into())));
    lines
}

/// Number of lines below a node, which then count as drawn.
fn fold_away(nodes: &[Node], from: usize, seen: &mut [bool]) -> usize {
    let mut lines = nodes[from].exited.len();
    let mut stack: Vec<usize> = nodes[from].children.clone();
    while let Some(n) = stack.pop() {
        if !std::mem::replace(&mut seen[n], true) {
            lines += usize::from(nodes[n].kept) + nodes[n].exited.len();
            stack.extend(&nodes[n].children);
        }
    }
    lines
}

/// Adds the node's line. Returns the text in front of the lines below it.
fn push_node(lines: &mut Vec<Line>, node: &Node, visit: &Visit, fold: Fold) -> String {
    let drawn = visit.depth > 0;
    let branch = if visit.last { "└ " } else { "├ " };
    let mut prefix = if drawn { format!("{}{branch}", visit.stem) } else { String::new() };
    if let Fold::Folded(rows) = fold {
        prefix += &format!("[+{rows}] ");
    }
    let line = line(node.of, prefix);
    lines.push(Line { cpu_plus_tenths: node.branch_tenths, fold, ..line });
    match visit.depth {
        0 => String::new(),
        d if d > MAX_DRAWN_DEPTH => visit.stem.clone(),
        _ => format!("{}{}", visit.stem, if visit.last { "  " } else { "│ " }),
    }
}

fn push_exited(lines: &mut Vec<Line>, exited: &[&Subject], below: &str, ends: bool) {
    for (i, of) in exited.iter().enumerate() {
        let branch = if ends && i + 1 == exited.len() { "└ " } else { "├ " };
        lines.push(line(of, format!("{below}{branch}")));
    }
}
