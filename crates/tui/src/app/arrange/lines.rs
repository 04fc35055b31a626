//! The lines of a frame: a list with exited groups under their parents, or the tree with what each
//! branch used together. Pure.

use super::line::{At, Line};
use super::rules::{Chosen, Rules};
use super::shares::Shares;
use exactop_model::columns::Rounding;
use exactop_model::{Counter, Frame, Row, RowKind};
use std::collections::HashMap;

/// The lines of a frame.
pub(super) fn lines(frame: &Frame, rules: &Rules, chosen: &Chosen, shares: &Shares) -> Vec<Line> {
    let mut lines = match rules.tree {
        true => tree(frame, rules, chosen, shares),
        false => flat(frame, rules, chosen),
    };
    for line in &mut lines {
        let share = match line.at {
            At::Live(i) => shares.live[i],
            At::Exited(i) => shares.exited[i],
        };
        line.cpu_tenths = share.own;
        line.cpu_plus_tenths = line.cpu_plus_tenths.or(share.with_exited);
    }
    lines
}

fn live(at: &At) -> Option<usize> {
    match at {
        At::Live(i) => Some(*i),
        At::Exited(_) => None,
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
fn flat(frame: &Frame, rules: &Rules, chosen: &Chosen) -> Vec<Line> {
    let kept = chosen.order.iter().filter_map(live).filter(|&i| chosen.kept[i]);
    let leaders = leaders(frame, kept);
    let mut below: HashMap<u32, Vec<At>> = HashMap::new();
    let mut heads: Vec<At> = Vec::new();
    for &at in &chosen.order {
        let ppid = at.row(frame).ident.ppid;
        match at {
            At::Live(i) if chosen.kept[i] => heads.push(at),
            At::Exited(_) if leaders.contains_key(&ppid) => below.entry(ppid).or_default().push(at),
            At::Exited(_) if rules.user.is_none() => heads.push(at),
            _ => {}
        }
    }
    let mut lines = Vec::with_capacity(chosen.order.len());
    for at in heads {
        lines.push(line(at, String::new()));
        let tgid = at.row(frame).key.tgid;
        let is_leader = matches!(at, At::Live(i) if leaders.get(&tgid) == Some(&i));
        if let Some(mut groups) = is_leader.then(|| below.remove(&tgid)).flatten() {
            by_cpu(frame, &mut groups);
            push_exited(&mut lines, &groups, "", true);
        }
    }
    lines
}

fn line(at: At, prefix: String) -> Line {
    Line { at, prefix, cpu_tenths: None, cpu_plus_tenths: None }
}

/// Exited groups under one parent: the largest first.
fn by_cpu(frame: &Frame, groups: &mut [At]) {
    groups.sort_by_key(|at| {
        let row = at.row(frame);
        let (At::Live(place) | At::Exited(place)) = *at;
        (std::cmp::Reverse(row.delta.get(Counter::RunNs)), row.ident.comm, place)
    });
}

fn tree(frame: &Frame, rules: &Rules, chosen: &Chosen, shares: &Shares) -> Vec<Line> {
    let (mut nodes, orphans) = grow(frame, rules, chosen, shares);
    let order = walk(&nodes);
    sum_branches(&mut nodes, &order);
    draw(rules, &nodes, orphans)
}

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

/// Nodes for all rows in order, linked; and the exited groups without a living ancestor.
fn grow(frame: &Frame, rules: &Rules, chosen: &Chosen, shares: &Shares) -> (Vec<Node>, Vec<At>) {
    let rows: Vec<usize> = chosen.order.iter().filter_map(live).collect();
    let leader_of = leaders(frame, rows.iter().copied());
    let place: HashMap<usize, usize> = rows.iter().enumerate().map(|(n, &i)| (i, n)).collect();
    let node_of = |process: u32| leader_of.get(&process).map(|leader| place[leader]);
    let mut nodes: Vec<Node> = rows
        .iter()
        .map(|&i| Node {
            row: i,
            parent: node_of(parent_process(&frame.rows[i])),
            children: Vec::new(),
            exited: Vec::new(),
            branch_ns: frame.rows[i].run_with_exited_ns().unwrap_or(0),
            branch_tenths: shares.live[i].with_exited.or(shares.live[i].own).unwrap_or(0),
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
        let parent = node_of(at.row(frame).ident.ppid);
        let has_parent = parent.is_some_and(|n| nodes[n].kept);
        match parent {
            _ if !(has_parent || rules.user.is_none()) => {}
            Some(n) => nodes[n].exited.push(at),
            None => orphans.push(at),
        }
    }
    nodes.iter_mut().for_each(|node| by_cpu(frame, &mut node.exited));
    (nodes, orphans)
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

fn push_exited(lines: &mut Vec<Line>, exited: &[At], below: &str, ends: bool) {
    for (i, &at) in exited.iter().enumerate() {
        let branch = if ends && i + 1 == exited.len() { "└ " } else { "├ " };
        lines.push(line(at, format!("{below}{branch}")));
    }
}
