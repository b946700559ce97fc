// Searches an A-Tree for the rules that hold for each event. Standard input has lines of fields that tabs separate:
// the names of the texts, the names of the integers, R and a rule, E and the values of an event. The argument is the
// time to measure in nanoseconds. It prints the nanoseconds of one search, then for each event the numbers of the rules.
use a_tree::{ATree, AttributeDefinition};
use std::io::{self, BufRead, Write};
use std::time::{Duration, Instant};

fn main() {
    let budget = Duration::from_nanos(std::env::args().nth(1).unwrap().parse().unwrap());
    let stdin = io::stdin();
    let mut lines = stdin.lock().lines().map(|l| l.unwrap());
    let texts: Vec<String> = lines.next().unwrap().split('\t').map(String::from).collect();
    let integers: Vec<String> = lines.next().unwrap().split('\t').map(String::from).collect();
    let mut definitions: Vec<AttributeDefinition> = texts.iter().map(|n| AttributeDefinition::string(n)).collect();
    definitions.extend(integers.iter().map(|n| AttributeDefinition::integer(n)));
    let mut tree = ATree::<u64>::new(&definitions).unwrap();
    let (mut id, mut raw) = (0u64, Vec::new());
    for line in lines {
        let (tag, rest) = line.split_at(2);
        if tag == "R\t" {
            tree.insert(&id, rest).unwrap();
            id += 1;
        } else {
            raw.push(rest.split('\t').map(String::from).collect::<Vec<_>>());
        }
    }
    let events: Vec<_> = raw
        .iter()
        .map(|values| {
            let mut b = tree.make_event();
            for (name, value) in texts.iter().zip(values) {
                b.with_string(name, value).unwrap();
            }
            for (name, value) in integers.iter().zip(&values[texts.len()..]) {
                b.with_integer(name, value.parse().unwrap()).unwrap();
            }
            b.build().unwrap()
        })
        .collect();
    let found: Vec<Vec<u64>> = events
        .iter()
        .map(|e| tree.search(e).unwrap().matches().iter().map(|id| **id).collect())
        .collect();
    let (start, mut runs, mut sum) = (Instant::now(), 0u64, 0usize);
    while start.elapsed() < budget {
        for _ in 0..16 {
            sum += tree.search(&events[runs as usize % events.len()]).unwrap().matches().len();
            runs += 1;
        }
    }
    std::hint::black_box(sum);
    let mut out = io::BufWriter::new(io::stdout().lock());
    writeln!(out, "{}", start.elapsed().as_nanos() as f64 / runs.max(1) as f64).unwrap();
    for ids in found {
        writeln!(out, "{}", ids.iter().map(|i| i.to_string()).collect::<Vec<_>>().join(" ")).unwrap();
    }
}
