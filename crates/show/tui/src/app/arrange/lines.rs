//! The lines of a frame: a list with exited groups under their parents, or the tree with what each
//! branch used together. Pure.

use super::against::Rows;
use super::line::{At, Fold, Line};
use super::rules::{Chosen, Rules};
use super::shares::Shares;
use exactop_model::columns::Rounding;
use exactop_model::frame::value::Datum;
use exactop_model::{columns::sort, Counter, Frame, Missing, Row, RowKind, Value};
use std::collections::HashMap;

/// Before an exited group that stands below nobody: what is above it is not its parent.
const ALONE: &str = "╶ ";

/// The lines of a frame.
pub(super) fn lines(rows: Rows, rules: &Rules, chosen: &Chosen, shares: &Shares) -> Vec<Line> {
    let mut lines = match rules.tree {
        true => tree(rows, rules, chosen, shares),
        false => flat(rows, rules, chosen),
    };
    for line in &mut lines {
        let share = match line.at {
            At::Live(i) => shares.live[i],
            At::Exited(i) => shares.exited[i],
            // What it was, the sums of its branch included.
            At::Gone(i) => {
                let then = rows.gone(i).map(|(_, line)| line);
                line.cpu_tenths = then.and_then(|then| then.cpu_tenths);
                line.cpu_plus_tenths = then.and_then(|then| then.cpu_plus_tenths);
                continue;
            }
        };
        line.cpu_tenths = share.own;
        let in_tree = rules.tree && live(&line.at).is_some();
        line.cpu_plus_tenths = if in_tree { line.cpu_plus_tenths } else { share.with_exited };
    }
    lines
}

fn live(at: &At) -> Option<usize> {
    match at {
        At::Live(i) => Some(*i),
        At::Exited(_) | At::Gone(_) => None,
    }
}

/// The leader's rows by process: under them stand exited groups and, in the tree, children.
fn leaders(frame: &Frame, shown: impl Iterator<Item = usize>) -> HashMap<u32, usize> {
    shown
        .filter(|&i| frame.rows[i].kind == RowKind::Process || frame.rows[i].key.is_leader())
        .map(|i| (frame.rows[i].key.tgid, i))
        .collect()
}

/// The kernel does not say whose the exited tasks of a group were: with a user filter they show only
/// under a parent that does.
fn flat(rows: Rows, rules: &Rules, chosen: &Chosen) -> Vec<Line> {
    let kept = chosen.order.iter().filter_map(live).filter(|&i| chosen.kept[i]);
    let leaders = leaders(rows.frame, kept);
    let mut below: HashMap<u32, Vec<At>> = HashMap::new();
    let mut heads: Vec<At> = Vec::new();
    for &at in &chosen.order {
        let row = rows.row(at);
        let ppid = row.ident.ppid;
        match at {
            At::Live(i) if !chosen.kept[i] => {}
            _ if row.kind != RowKind::Exited => heads.push(at),
            _ if leaders.contains_key(&ppid) => below.entry(ppid).or_default().push(at),
            _ if rules.user.is_none() => heads.push(at),
            _ => {}
        }
    }
    let mut lines = Vec::with_capacity(chosen.order.len());
    for at in heads {
        let is_living = rows.row(at).kind != RowKind::Exited;
        lines.push(line(at, if is_living { String::new() } else { ALONE.into() }));
        let tgid = rows.row(at).key.tgid;
        let is_leader = matches!(at, At::Live(i) if leaders.get(&tgid) == Some(&i));
        if let Some(mut groups) = is_leader.then(|| below.remove(&tgid)).flatten() {
            by_cpu(rows, &mut groups);
            push_exited(&mut lines, &groups, "", true);
        }
    }
    lines
}

fn line(at: At, prefix: String) -> Line {
    Line { at, prefix, fold: Fold::Leaf, cpu_tenths: None, cpu_plus_tenths: None }
}

/// Exited groups under one parent: the largest first.
fn by_cpu(rows: Rows, groups: &mut [At]) {
    groups.sort_by_key(|at| {
        let row = rows.row(*at);
        let (At::Live(place) | At::Exited(place) | At::Gone(place)) = *at;
        (std::cmp::Reverse(row.delta.get(Counter::RunNs)), row.ident.comm, place)
    });
}

fn tree(rows: Rows, rules: &Rules, chosen: &Chosen, shares: &Shares) -> Vec<Line> {
    let (mut nodes, orphans) = grow(rows, rules, chosen, shares);
    let order = walk(&nodes);
    sum_branches(&mut nodes, &order);
    draw(rows, rules, &nodes, orphans)
}

/// Branches are drawn to this depth; deeper rows stay at it.
const MAX_DRAWN_DEPTH: usize = 24;

struct Node {
    row: usize,
    parent: Option<usize>,
    children: Vec<usize>,
    exited: Vec<At>,
    /// CPU time of the branch; `None`: that of someone in it is not known.
    branch_ns: Option<u64>,
    /// The same in tenths of a per cent.
    branch_tenths: Option<i64>,
    kept: bool,
}

/// Nodes for all rows in order, linked; and the exited groups without a living ancestor.
fn grow(rows: Rows, rules: &Rules, chosen: &Chosen, shares: &Shares) -> (Vec<Node>, Vec<At>) {
    let frame = rows.frame;
    let living: Vec<usize> = chosen.order.iter().filter_map(live).collect();
    let leader_of = leaders(frame, living.iter().copied());
    let place: HashMap<usize, usize> = living.iter().enumerate().map(|(n, &i)| (i, n)).collect();
    let node_of = |process: u32| leader_of.get(&process).map(|leader| place[leader]);
    let mut nodes: Vec<Node> = living
        .iter()
        .map(|&i| Node {
            row: i,
            parent: node_of(parent_process(&frame.rows[i])),
            children: Vec::new(),
            exited: Vec::new(),
            branch_ns: run_with_exited_ns(&frame.rows[i]),
            branch_tenths: match frame.rows[i].children {
                Some(_) => shares.live[i].with_exited,
                None => shares.live[i].own,
            },
            kept: chosen.kept[i],
        })
        .collect();
    for n in 0..nodes.len() {
        match nodes[n].parent {
            Some(parent) if parent != n => nodes[parent].children.push(n),
            _ => nodes[n].parent = None,
        }
    }
    let mut orphans = Vec::new();
    for &at in chosen.order.iter().filter(|at| live(at).is_none()) {
        let parent = node_of(rows.row(at).ident.ppid);
        let has_parent = parent.is_some_and(|n| nodes[n].kept);
        match parent {
            _ if !(has_parent || rules.user.is_none()) => {}
            Some(n) => nodes[n].exited.push(at),
            None => orphans.push(at),
        }
    }
    nodes.iter_mut().for_each(|node| by_cpu(rows, &mut node.exited));
    (nodes, orphans)
}

/// CPU time of a row and, where exits are seen, of those that exited below it.
fn run_with_exited_ns(row: &Row) -> Option<u64> {
    let own = row.delta.get(Counter::RunNs)?;
    match &row.children {
        Some(exited) => own.checked_add(exited.get(Counter::RunNs)?),
        None => Some(own),
    }
}

/// The process under which a row hangs: a thread under its leader.
fn parent_process(row: &Row) -> u32 {
    if row.key.is_leader() {
        row.ident.ppid
    } else {
        row.key.tgid
    }
}

/// Parents before children. Rows read at different instants may form a ring: it is entered
/// once, anywhere.
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

/// Adds every branch to its parent's, and keeps the ancestors of what is kept.
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
    /// What the rows of this branch have before them.
    stem: String,
    last: bool,
}

/// What a branch is ordered by: its CPU time, or by how much it changed.
fn branch_value(rows: Rows, node: &Node) -> Value {
    let (row, tenths) = (At::Live(node.row), node.branch_tenths);
    match rows.versus(row) {
        None => Value::ns(node.branch_ns, Missing::Source),
        Some(versus) => match versus.tenths(tenths, |_, line| line.cpu_plus_tenths) {
            Some(tenths) => Value::Known(Datum::Int(tenths)),
            None => Value::Missing(Missing::Source),
        },
    }
}

fn draw(rows: Rows, rules: &Rules, nodes: &[Node], orphans: Vec<At>) -> Vec<Line> {
    let mut lines = Vec::with_capacity(nodes.len());
    let mut seen = vec![false; nodes.len()];
    let column = rules.sort.column;
    let sorts_cpu = column.of_branch || column.rounding == Rounding::WithExited;
    let in_order = |list: &mut Vec<usize>| {
        if sorts_cpu {
            let value = |n: usize| branch_value(rows, &nodes[n]);
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
            let key = rows.row(At::Live(node.row)).key;
            let fold = match rules.folded.is_some_and(|folded| folded.contains(&key)) {
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
    lines.extend(orphans.into_iter().map(|at| line(at, ALONE.into())));
    lines
}

/// How many lines stand below a node; they count as drawn.
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

/// Adds the node's line; yields what stands before the lines below it.
fn push_node(lines: &mut Vec<Line>, node: &Node, visit: &Visit, fold: Fold) -> String {
    let drawn = visit.depth > 0;
    let branch = if visit.last { "└ " } else { "├ " };
    let mut prefix = if drawn { format!("{}{branch}", visit.stem) } else { String::new() };
    if let Fold::Folded(rows) = fold {
        prefix += &format!("[+{rows}] ");
    }
    let line = line(At::Live(node.row), prefix);
    lines.push(Line { cpu_plus_tenths: node.branch_tenths, fold, ..line });
    match visit.depth {
        0 => String::new(),
        d if d > MAX_DRAWN_DEPTH => visit.stem.clone(),
        _ => format!("{}{}", visit.stem, if visit.last { "  " } else { "│ " }),
    }
}

fn push_exited(lines: &mut Vec<Line>, exited: &[At], below: &str, ends: bool) {
    for (i, &at) in exited.iter().enumerate() {
        let branch = if ends && i + 1 == exited.len() { "└ " } else { "├ " };
        lines.push(line(at, format!("{below}{branch}")));
    }
}
