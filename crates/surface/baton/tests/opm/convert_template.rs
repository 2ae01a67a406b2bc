//! `opm alpha convert-template`.

use std::fs;
use std::process::Stdio;

use crate::program::{configured, opm, text};
use crate::recordings::catalog_corpus;
use crate::world::World;

#[test]
fn a_catalog_becomes_a_template_again() {
    let Some(corpus) = catalog_corpus() else {
        return;
    };
    let world = World::new();
    let input = corpus.join("templates/convert/input.yaml");
    for kind in ["basic", "substitutes"] {
        for notation in ["json", "yaml"] {
            let line = [
                "alpha",
                "convert-template",
                kind,
                "-o",
                notation,
                input.to_str().expect("UTF-8"),
            ];
            let expected =
                fs::read(corpus.join(format!("templates/convert/{kind}.{notation}"))).expect("a file");
            assert_eq!(
                text(&opm(&world, &line).stdout),
                text(&expected),
                "{kind} {notation}"
            );
        }
    }
    let from_stdin = configured(&world, &["alpha", "convert-template", "basic"])
        .stdin(Stdio::from(fs::File::open(&input).expect("a file")))
        .output()
        .expect("the program runs");
    let expected = fs::read(corpus.join("templates/convert/basic.json")).expect("a file");
    assert_eq!(text(&from_stdin.stdout), text(&expected));
}
