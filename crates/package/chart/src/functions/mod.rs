//! The functions of Sprig and Helm, by what they are about; each file lists its own.

mod case;
mod certificates;
mod conversion;
mod copies;
mod dates;
mod decimals;
mod defaults;
mod dictionaries;
mod digests;
mod encodings;
mod equality;
mod generic;
mod joining;
mod json;
pub(crate) mod limits;
mod lists;
mod merge;
mod number_syntax;
mod numbers;
mod passwords;
mod paths;
mod random;
mod reflection;
pub(crate) mod regular_expressions;
pub(crate) mod rendering;
mod strings;
#[cfg(test)]
pub(crate) mod testing;
mod toml;
mod urls;
mod versions;
mod words;
mod wrapping;
mod yaml;
mod yaml_direct;

use gotemplate::Function;

/// Every function that templates can call, apart from Go's own.
pub(crate) fn all() -> impl Iterator<Item = &'static Function> {
    let groups = [
        case::FUNCTIONS,
        certificates::FUNCTIONS,
        copies::FUNCTIONS,
        dates::FUNCTIONS,
        decimals::FUNCTIONS,
        defaults::FUNCTIONS,
        dictionaries::FUNCTIONS,
        digests::FUNCTIONS,
        encodings::FUNCTIONS,
        joining::FUNCTIONS,
        json::FUNCTIONS,
        lists::FUNCTIONS,
        merge::FUNCTIONS,
        numbers::FUNCTIONS,
        passwords::FUNCTIONS,
        paths::FUNCTIONS,
        random::FUNCTIONS,
        reflection::FUNCTIONS,
        regular_expressions::FUNCTIONS,
        rendering::FUNCTIONS,
        strings::FUNCTIONS,
        toml::FUNCTIONS,
        urls::FUNCTIONS,
        versions::FUNCTIONS,
        words::FUNCTIONS,
        wrapping::FUNCTIONS,
        yaml::FUNCTIONS,
    ];
    groups.into_iter().flatten()
}
