//! The tree: children under their parents, with what each branch used together. Pure.

use super::shares::Shares;
use super::{by_cpu, cpu_with_exited, leaders, line, At, Line, Rules};
use exactop_model::columns::Rounding;
use exactop_model::{Frame, Row};
use std::collections::HashMap;

/// Branches are drawn to this depth; deeper rows stay at it.
const MAX_DRAWN_DEPTH: usize = 24;

struct Node {
    row: usize,
    parent: Option<usize>,
    children: Vec<usize>,
    exited: Vec<At>,
    branch_ns: u64,
    branch_tenths: i64,
    kept: bool,
}

pub(super) fn lines(frame: &Frame, rules: &Rules, shares: &Shares) -> Vec<Line> {
    let (mut nodes, orphans) = grow(frame, rules, shares);
    let order = walk(&nodes);
    sum_branches(&mut nodes, &order);
    draw(rules, &nodes, orphans)
}

/// Nodes for all rows in the order of the sort column, linked; and the exited groups without a
/// living ancestor.
fn grow(frame: &Frame, rules: &Rules, shares: &Shares) -> (Vec<Node>, Vec<At>) {
    let mut list: Vec<At> = (0..frame.rows.len())
        .filter(|&i| rules.is_wanted_kind(&frame.rows[i]))
        .map(At::Live)
        .collect();
    rules.sort(frame, &mut list);
    let rows: Vec<usize> = list
        .iter()
        .filter_map(|at| match at {
            At::Live(i) => Some(*i),
            At::Exited(_) => None,
        })
        .collect();
    let leader_of = leaders(frame, rows.iter().copied());
    let place: HashMap<usize, usize> = rows.iter().enumerate().map(|(n, &i)| (i, n)).collect();
    let mut nodes: Vec<Node> = rows
        .iter()
        .map(|&i| Node {
            row: i,
            parent: leader_of.get(&parent_process(&frame.rows[i])).map(|l| place[l]),
            children: Vec::new(),
            exited: Vec::new(),
            branch_ns: cpu_with_exited(&frame.rows[i]).unwrap_or(0),
            branch_tenths: branch_start(frame, shares, i),
            kept: rules.keeps_live(&frame.rows[i]),
        })
        .collect();
    for n in 0..nodes.len() {
        match nodes[n].parent {
            Some(parent) if parent != n => nodes[parent].children.push(n),
            _ => nodes[n].parent = None,
        }
    }
    let orphans = hang_exited(frame, rules, &mut nodes, |ppid| {
        leader_of.get(&ppid).map(|leader| place[leader])
    });
    (nodes, orphans)
}

/// What a row's branch begins with: itself and what exited below it.
fn branch_start(frame: &Frame, shares: &Shares, i: usize) -> i64 {
    let (at, row) = (At::Live(i), &frame.rows[i]);
    shares.with_exited(at, row).or_else(|| shares.own(at, row)).unwrap_or(0)
}

/// The process under which a row hangs: a thread under its leader.
fn parent_process(row: &Row) -> u32 {
    if row.key.is_leader() {
        row.ident.ppid
    } else {
        row.key.tgid
    }
}

fn hang_exited(
    frame: &Frame,
    rules: &Rules,
    nodes: &mut [Node],
    node_of: impl Fn(u32) -> Option<usize>,
) -> Vec<At> {
    let mut orphans = Vec::new();
    for (i, row) in frame.exited.iter().enumerate() {
        let parent = node_of(row.ident.ppid);
        if !rules.keeps_exited(row, parent.is_some_and(|n| nodes[n].kept)) {
            continue;
        }
        match parent {
            Some(n) => nodes[n].exited.push(At::Exited(i)),
            None => orphans.push(At::Exited(i)),
        }
    }
    for node in nodes {
        by_cpu(frame, &mut node.exited);
    }
    rules.sort(frame, &mut orphans);
    orphans
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
            nodes[parent].branch_ns = nodes[parent].branch_ns.saturating_add(nodes[n].branch_ns);
            nodes[parent].branch_tenths += nodes[n].branch_tenths;
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

fn draw(rules: &Rules, nodes: &[Node], orphans: Vec<At>) -> Vec<Line> {
    let mut lines = Vec::with_capacity(nodes.len());
    let mut seen = vec![false; nodes.len()];
    let column = rules.sort.column;
    let sorts_cpu = column.of_branch || column.rounding == Rounding::WithExited;
    let in_order = |list: &mut Vec<usize>| {
        if sorts_cpu {
            list.sort_by(|&a, &b| {
                let order = nodes[a].branch_ns.cmp(&nodes[b].branch_ns);
                if rules.sort.descending {
                    order.reverse()
                } else {
                    order
                }
            });
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
            let below = push_node(&mut lines, node, &visit);
            let mut children: Vec<usize> =
                node.children.iter().copied().filter(|&c| nodes[c].kept).collect();
            in_order(&mut children);
            push_exited(&mut lines, node, &below, children.is_empty());
            let last = children.len().saturating_sub(1);
            stack.extend(children.iter().enumerate().rev().map(|(i, &c)| Visit {
                node: c,
                depth: visit.depth + 1,
                stem: below.clone(),
                last: i == last,
            }));
        }
    }
    lines.extend(orphans.into_iter().map(|at| line(at, String::new())));
    lines
}

/// Adds the node's line; yields what stands before the lines below it.
fn push_node(lines: &mut Vec<Line>, node: &Node, visit: &Visit) -> String {
    let drawn = visit.depth > 0;
    let branch = if visit.last { "└ " } else { "├ " };
    let prefix = if drawn { format!("{}{branch}", visit.stem) } else { String::new() };
    let branch = Some(node.branch_tenths);
    lines.push(Line { cpu_plus_tenths: branch, ..line(At::Live(node.row), prefix) });
    match visit.depth {
        0 => String::new(),
        d if d > MAX_DRAWN_DEPTH => visit.stem.clone(),
        _ => format!("{}{}", visit.stem, if visit.last { "  " } else { "│ " }),
    }
}

fn push_exited(lines: &mut Vec<Line>, node: &Node, below: &str, ends: bool) {
    let count = node.exited.len();
    for (i, &at) in node.exited.iter().enumerate() {
        let branch = if ends && i + 1 == count { "└ " } else { "├ " };
        lines.push(line(at, format!("{below}{branch}")));
    }
}
