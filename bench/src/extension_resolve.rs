//! Resolves every package of a catalog again and again, as an extension without wishes does.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use catalog::reading::{self, Source};
use catalog::store::StoreWriter;
use extension_controller::packages::Packages;
use resolve::request::{Request, UpgradePolicy};
use resolve::resolution::{BrokenCatalogs, Offer, OfferState, resolve};

/// How often each package is resolved; the first time is not counted.
const ROUNDS: usize = 5;

/// Prints how long one resolution takes: for most packages, and for the slowest.
pub(crate) fn measure(directory: &Path) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let digest = reading::digest(Source::Directory(directory))?;
    let mut writer = StoreWriter::create(folder.path(), &digest)?;
    writer.push_all(Source::Directory(directory))?;
    let store = writer.finish()?;
    let names: Vec<String> = store.packages().map(|meta| meta.name().to_owned()).collect();
    let mut times = Vec::new();
    let packages = Packages::default();
    for round in 0..=ROUNDS {
        for name in &names {
            let begin = Instant::now();
            let package = packages.read(&store, name)?;
            let request = Request {
                package: name.clone(),
                version: None,
                channels: Vec::new(),
                policy: UpgradePolicy::CatalogProvided,
                installed: None,
            };
            let offers = [Offer {
                catalog: "catalog",
                priority: 0,
                state: OfferState::Read(package.as_deref()),
            }];
            let resolved = resolve(&request, &offers, BrokenCatalogs::Skip);
            let time = begin.elapsed().as_secs_f64() * 1e3;
            if round > 0 && resolved.is_ok() {
                times.push(time);
            }
        }
    }
    times.sort_by(f64::total_cmp);
    let (Some(median), Some(slowest)) = (times.get(times.len() / 2), times.last()) else {
        return Err("no package could be resolved".into());
    };
    println!("packages: {}", names.len());
    println!("resolve, median: {median:.3} ms");
    println!("resolve, slowest: {slowest:.3} ms");
    Ok(())
}
