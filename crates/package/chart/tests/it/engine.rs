//! The engine as a whole: scopes, order, limits, and renders that can be repeated.

use std::rc::Rc;

use bytes::Bytes;
use chart::capabilities::Capabilities;
use chart::engine::{Engine, Operation, ReleaseContext};
use chart::host::{Host, Lookup, NoCluster};
use chart::installation::{self, Installation, InstallationRequest};
use chart::source::SeededSource;
use chart::values::Table;
use chart::{File, loader};
use gotemplate::Interrupt;

const CHART: &str = "apiVersion: v2\nname: c\nversion: 0.1.0\n";

/// A chart in memory, rendered with one call.
struct World {
    files: Vec<File>,
    lookup: Rc<dyn Lookup>,
    seed: u64,
    max_steps: u64,
    interrupt: Option<Rc<dyn Interrupt>>,
}

impl World {
    fn new() -> World {
        World {
            files: Vec::new(),
            lookup: Rc::new(NoCluster),
            seed: 1,
            max_steps: 20_000_000,
            interrupt: None,
        }
        .file("Chart.yaml", CHART)
    }

    fn file(mut self, name: &str, data: &str) -> World {
        self.files.push(File {
            name: name.into(),
            data: Bytes::copy_from_slice(data.as_bytes()),
        });
        self
    }

    fn template(self, text: &str) -> World {
        self.file("templates/a.yaml", text)
    }

    fn plan(&self) -> Result<Installation, String> {
        let chart = loader::load_files(self.files.clone(), &mut |_| {}).map_err(|error| error.to_string())?;
        let source = SeededSource::from_number(self.seed, "2024-02-02T22:30:00Z".parse().expect("a time"));
        let mut host = Host::new(Rc::new(source), Rc::clone(&self.lookup));
        if let Some(interrupt) = &self.interrupt {
            host = host.interrupted_by(Rc::clone(interrupt));
        }
        let request = InstallationRequest {
            chart: &chart,
            values: &Table::new(),
            release: ReleaseContext {
                name: "r".into(),
                namespace: "n".into(),
                operation: Operation::Install,
                revision: 1,
            },
            capabilities: &Capabilities::default(),
            sub_notes: false,
            skip_schema_validation: false,
            strict: false,
        };
        installation::plan(
            &Engine::new().with_max_steps(self.max_steps),
            &request,
            &host,
            None,
            &mut |_| {},
        )
        .map_err(|error| error.to_string())
    }

    /// The rendered documents, in order, each with its file.
    fn render(&self) -> Result<Vec<(String, String)>, String> {
        let text = |content: &Bytes| String::from_utf8_lossy(content).into_owned();
        let plan = self.plan()?;
        Ok(plan
            .manifests
            .iter()
            .map(|manifest| (manifest.name.clone(), text(&manifest.content)))
            .collect())
    }

    fn only(&self) -> Result<String, String> {
        Ok(self.render()?.into_iter().map(|(_, content)| content).collect())
    }
}

#[test]
fn what_a_chart_changes_two_levels_below_global_all_charts_see() {
    let change = |name: &str| {
        format!(
            "kind: K\nseen: {{{{ keys .Values.global.a.b | sortAlpha | join \" \" }}}} / {{{{ keys .Values.global.a | \
             sortAlpha | join \" \" }}}}\n{{{{- $_ := set .Values.global.a.b {name:?} 1 }}}}\n{{{{- $_ := set \
             .Values.global.a {name:?} 1 }}}}\n"
        )
    };
    let documents = World::new()
        .file("values.yaml", "global: {a: {b: {own: 1}}}\n")
        .file("charts/s/Chart.yaml", "apiVersion: v2\nname: s\nversion: 0.1.0\n")
        .file("charts/s/templates/s.yaml", &change("sub"))
        .file("templates/z.yaml", &change("last"))
        .file("templates/a.yaml", &change("first"))
        .render()
        .expect("a render");
    let contents: Vec<&str> = documents.iter().map(|(_, content)| content.as_str()).collect();
    // Executed are the subchart, then z, then a; printed in the order of their files.
    assert_eq!(
        contents,
        [
            "kind: K\nseen: own / b",
            "kind: K\nseen: last own sub / b last",
            "kind: K\nseen: own sub / b",
        ]
    );
}

#[test]
fn the_same_seed_gives_the_same_render_and_another_seed_another() {
    let template = "kind: K\na: {{ randAlphaNum 12 }}\nb: {{ uuidv4 }}\nc: {{ now | unixEpoch }}\n\
                    d: {{ genSignedCert \"x\" nil nil 1 (genCA \"ca\" 1) | toJson }}\ne: {{ bcrypt \"p\" }}\n";
    let world = World::new().template(template);
    let first = world.only().expect("a render");
    assert_eq!(world.only().expect("a render"), first);
    assert_ne!(World { seed: 2, ..world }.only().expect("a render"), first);
}

#[test]
fn lookup_asks_the_cluster_that_it_was_given() {
    struct OneSecret;
    impl Lookup for OneSecret {
        fn lookup(
            &self,
            api_version: &str,
            kind: &str,
            namespace: &str,
            name: &str,
        ) -> Result<serde_json::Value, String> {
            Ok(serde_json::json!({ "asked": format!("{api_version} {kind} {namespace}/{name}") }))
        }
    }
    let template = "kind: K\nfound: {{ (lookup \"v1\" \"Secret\" \"ns\" \"s\").asked }}\n";
    let world = World {
        lookup: Rc::new(OneSecret),
        ..World::new().template(template)
    };
    assert_eq!(world.only().expect("a render"), "kind: K\nfound: v1 Secret ns/s");
    assert_eq!(
        World::new().template(template).only().expect("a render"),
        "kind: K\nfound:"
    );
}

#[test]
fn recursion_ends_in_an_error() {
    let include = World::new()
        .file(
            "templates/_a.tpl",
            "{{ define \"r\" }}{{ include \"r\" . }}{{ end }}",
        )
        .template("{{ include \"r\" . }}")
        .only()
        .expect_err("endless");
    assert!(
        include.ends_with("rendering template has a nested reference name: r: unable to execute template")
    );
    let tpl = World::new()
        .file("values.yaml", "t: '{{ tpl .Values.t . }}'\n")
        .template("{{ tpl .Values.t . }}")
        .only()
        .expect_err("endless");
    assert!(
        tpl.ends_with("tpl calls itself deeper than 1000 levels"),
        "{}",
        &tpl[tpl.len() - 200..]
    );
    let many_names: Vec<String> = (0..200)
        .map(|n| {
            format!(
                "{{{{ define \"r{n}\" }}}}{{{{ include \"r{}\" . }}}}{{{{ end }}}}",
                (n + 1) % 200
            )
        })
        .collect();
    let mutual = World::new()
        .file("templates/_a.tpl", &many_names.concat())
        .template("{{ include \"r0\" . }}")
        .only()
        .expect_err("endless");
    assert!(mutual.ends_with("templates include each other deeper than 10000 levels"));
}

#[test]
fn loops_that_do_not_end_are_stopped() {
    for template in [
        "{{ range until 1000000000 }}x{{ end }}",
        "{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}",
        "{{ $s := \"aaaaaaaaaa\" }}{{ range until 100 }}{{ $s = print $s $s }}{{ end }}",
        "{{ repeat 1000000000 \"x\" }}",
        "{{ $l := list }}{{ range until 900000 }}{{ $l = list $l }}{{ end }}{{ mustToJson $l }}",
        "{{ $l := dict }}{{ range until 900000 }}{{ $l = dict \"a\" $l }}{{ end }}{{ deepCopy $l }}",
        "{{ $l := dict }}{{ range until 900000 }}{{ $l = dict \"a\" $l }}{{ end }}{{ print $l | trunc 100 | fail }}",
        "{{ $d := dict }}{{ $_ := set $d \"d\" $d }}{{ mustToJson $d }}",
    ] {
        let error = World {
            seed: 3,
            ..World::new()
        }
        .template(template)
        .only()
        .expect_err(template);
        assert!(error.len() < 2000, "{template}: {error}");
    }
}

#[test]
fn keys_and_password_hashes_count_as_the_work_that_they_are() {
    for template in [
        "{{ range until 100000 }}{{ $x := genCA \"a\" 1 }}{{ end }}",
        "{{ range until 100000 }}{{ $x := genPrivateKey \"rsa\" }}{{ end }}",
        "{{ range until 100000 }}{{ bcrypt \"a\" }}{{ end }}",
        "{{ range until 100000 }}{{ htpasswd \"a\" \"b\" }}{{ end }}",
        "{{ range until 100000 }}{{ derivePassword 1 \"long\" \"p\" \"u\" \"s\" }}{{ end }}",
    ] {
        let world = World {
            max_steps: 900_000,
            ..World::new()
        };
        let error = world.template(template).only().expect_err(template);
        assert!(
            error.contains("execution takes more than 900000 steps"),
            "{template}: {error}"
        );
    }
}

#[test]
fn functions_that_go_over_much_again_and_again_are_stopped() {
    let setup = "{{ $t := repeat 200000 \"aB \" }}{{ $l := until 20000 }}{{ $s := splitList \" \" $t }}{{ $m := dict }}{{ range \
                 $l }}{{ $_ := set $m (toString .) . }}{{ end }}";
    // So many rounds have far less steps than there may be, unless what they go over is counted.
    for body in [
        "sha256sum $t",
        "contains \"zzz\" $t",
        "hasPrefix $t $t",
        "eq $t \"\" $t",
        "replace \"z\" \"\" $t",
        "trim $t",
        "upper $t",
        "snakecase $t",
        "b64dec $t",
        "quote $t",
        "print $t",
        "printf \"%s\" $t",
        "html $t",
        "toYaml $t",
        "toJson $l",
        "toToml $m",
        "fromYaml $t",
        "fromJson $t",
        "shuffle $t",
        "randAlphaNum 600000",
        "split \" \" $t",
        "regexMatch \"z+y\" $t",
        "regexMatch (printf \"(abcdefgh){99}%d\" $i) \"\"",
        "tpl (printf \"%s{{ %d }}\" $t $i) $",
        "has \"z\" $s",
        "without $l 1",
        "reverse $l",
        "join \"\" $l",
        "sortAlpha $s",
        "deepCopy $m",
        "deepEqual $l (deepCopy $l)",
        "merge (dict) $m",
        "keys $m",
        "omit $m \"a\"",
        "dict $l 1",
        "$.Files.Glob \"**\"",
        "$.Files.AsConfig",
        "$.Files.Lines \"lines\"",
    ] {
        let world = World {
            max_steps: 1_000_000,
            ..World::new()
        }
        .file("lines", &"line\n".repeat(100_000));
        let template = format!("{setup}{{{{ range $i := until 50000 }}}}{{{{ $_ := {body} }}}}{{{{ end }}}}");
        let error = world.template(&template).only().expect_err(body);
        assert!(
            error.contains("execution takes more than 1000000 steps"),
            "{body}: {error}"
        );
        assert!(error.contains("c/templates/a.yaml:1:"), "{body}: {error}");
    }
}

#[test]
fn a_search_for_each_element_is_the_work_of_all_pairs() {
    let run = |count: usize| {
        let world = World {
            max_steps: 1_000_000,
            ..World::new()
        };
        world
            .template(&format!("kind: K\na: {{{{ uniq (until {count}) | len }}}}"))
            .only()
    };
    assert_eq!(run(1_000).expect("few pairs"), "kind: K\na: 1000");
    let error = run(10_000).expect_err("50 million pairs");
    assert!(
        error.contains("error calling uniq: execution takes more than 1000000 steps"),
        "{error}"
    );
}

#[test]
fn a_render_that_is_interrupted_says_where_and_why() {
    struct Over;
    impl Interrupt for Over {
        fn reason_to_stop(&self) -> Option<String> {
            Some("time is over".into())
        }
    }
    let world = World {
        interrupt: Some(Rc::new(Over)),
        ..World::new()
    };
    let error = world
        .template("kind: K\n{{ range until 100000 }}{{ end }}")
        .only()
        .expect_err("interrupted");
    assert!(error.starts_with("template: c/templates/a.yaml:2:"), "{error}");
    assert!(error.ends_with(">: time is over"), "{error}");
}

#[test]
fn errors_have_an_end_however_much_they_quote() {
    for template in [
        "{{ fail (repeat 1000000 \"long \") }}",
        "{{ required (repeat 1000000 \"long \") nil }}",
        "{{ tpl (print (repeat 1000000 \"long \") \"{{ index 1 2 }}\") . }}",
        "{{ tpl (print (repeat 1000000 \"long \") \"{{ end }}\") . }}",
        "{{ regexFind (repeat 1000000 \"long(\") \"\" }}",
        "{{ eq (list) (list (repeat 1000000 \"long \")) }}",
    ] {
        let error = World::new().template(template).only().expect_err(template);
        assert!(error.len() < 66_000, "{template}: {}", error.len());
        assert!(
            error.contains(" bytes left out) …"),
            "{template}: {}",
            &error[..200]
        );
    }
}

#[test]
fn templates_can_call_every_function_of_go_sprig_and_helm() {
    let names = chart::engine::function_names();
    assert_eq!(names.len(), 240, "{names:?}");
    for name in [
        "and",
        "toYaml",
        "mustToToml",
        "genSignedCert",
        "regexQuoteMeta",
        "lookup",
        "dateInZone",
    ] {
        assert!(names.contains(&name), "{name}");
    }
    for name in ["env", "expandenv"] {
        assert!(
            !names.contains(&name),
            "templates must not read the environment: {name}"
        );
    }
}
