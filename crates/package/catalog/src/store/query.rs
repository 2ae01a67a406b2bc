//! Which objects of a store somebody wants, and the objects themselves.

use bytes::Bytes;

use super::content::Content;
use super::error::StoreError;
use super::format::{MetaRecord, Section, Table};

/// Which objects are wanted. An empty text is no condition; the others must all hold.
///
/// As catalogd has it, the `package` of an `olm.package` object is empty: it is found by its name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Query<'q> {
    /// The kind of object, such as `olm.bundle`.
    pub schema: &'q str,
    /// The package that the object belongs to.
    pub package: &'q str,
    /// The object's name.
    pub name: &'q str,
}

/// An object of a store.
#[derive(Clone, Copy)]
pub struct StoredMeta<'a> {
    content: &'a Content,
    position: usize,
    record: MetaRecord,
}

/// Objects of a store in walk order.
#[derive(Debug, Clone)]
pub struct StoredMetas<'a> {
    content: &'a Content,
    candidates: Candidates<'a>,
    conditions: [Condition; 3],
}

/// What one field of an object must be.
type Condition = Option<u32>;

#[derive(Debug, Clone)]
enum Candidates<'a> {
    All(std::ops::Range<usize>),
    Listed { list: Table<'a, u32>, next: usize },
}

impl<'a> StoredMetas<'a> {
    /// Every object.
    pub(super) fn all(content: &'a Content) -> Self {
        Self {
            content,
            candidates: Candidates::All(0..content.metas().len()),
            conditions: [None; 3],
        }
    }

    /// The objects that a query wants. Objects without a schema are found by no query that asks for something.
    pub(super) fn of_query(content: &'a Content, query: Query<'_>) -> Self {
        let asked: Vec<(usize, &str)> = [query.schema, query.package, query.name]
            .into_iter()
            .enumerate()
            .filter(|(_, text)| !text.is_empty())
            .collect();
        let mut found = Self::all(content);
        if asked.is_empty() {
            return found;
        }
        found.candidates = Candidates::All(0..0);
        let symbols = content.symbols();
        let mut shortest: Option<Table<'a, u32>> = None;
        for (field, text) in asked {
            let Some(symbol) = symbols.find(text) else {
                return found;
            };
            found.conditions[field] = Some(symbol);
            let list = having(content, field, symbol);
            if shortest.is_none_or(|shortest| list.len() < shortest.len()) {
                shortest = Some(list);
            }
        }
        if let Some(list) = shortest {
            found.candidates = Candidates::Listed { list, next: 0 };
        }
        found
    }

    fn fulfils(&self, record: &MetaRecord) -> bool {
        let fields = [record.schema, record.package, record.name];
        let holds = |(condition, field): (&Condition, u32)| condition.is_none_or(|wanted| wanted == field);
        self.conditions.iter().zip(fields).all(holds) && (self.asks_nothing() || self.has_schema(record))
    }

    fn asks_nothing(&self) -> bool {
        self.conditions == [None; 3]
    }

    /// The empty text sorts first, so it is the only one that can have the first symbol.
    fn has_schema(&self, record: &MetaRecord) -> bool {
        record.schema != 0 || !self.content.symbols().text(0).is_empty()
    }
}

/// The positions of the objects that have a symbol in a field.
fn having(content: &Content, field: usize, symbol: u32) -> Table<'_, u32> {
    let section = [Section::BySchema, Section::ByPackage, Section::ByName][field];
    let order = content.table::<u32>(section);
    let metas = content.metas();
    let field_of = |position: &u32| {
        metas.get(*position as usize).map_or(u32::MAX, |record| {
            [record.schema, record.package, record.name][field]
        })
    };
    let start = order.partition_point(|position| field_of(position) < symbol);
    let end = order.partition_point(|position| field_of(position) <= symbol);
    order.slice(start..end.max(start))
}

impl<'a> Iterator for StoredMetas<'a> {
    type Item = StoredMeta<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let position = match &mut self.candidates {
                Candidates::All(range) => range.next()?,
                Candidates::Listed { list, next } => {
                    let position = list.get(*next)?;
                    *next += 1;
                    position as usize
                }
            };
            let Some(record) = self.content.metas().get(position) else {
                continue;
            };
            if self.fulfils(&record) {
                return Some(StoredMeta {
                    content: self.content,
                    position,
                    record,
                });
            }
        }
    }
}

impl<'a> StoredMeta<'a> {
    /// The object at a position of the walk.
    pub(super) fn at(content: &'a Content, position: usize) -> Option<Self> {
        let record = content.metas().get(position)?;
        Some(Self {
            content,
            position,
            record,
        })
    }

    /// How many objects come before it.
    pub fn position(&self) -> usize {
        self.position
    }

    /// What kind of object it is.
    pub fn schema(&self) -> &'a str {
        self.content.symbols().text(self.record.schema)
    }

    /// The package that it belongs to.
    pub fn package(&self) -> &'a str {
        self.content.symbols().text(self.record.package)
    }

    /// Its name.
    pub fn name(&self) -> &'a str {
        self.content.symbols().text(self.record.name)
    }

    /// How many bytes its canonical form takes, without the newline after it.
    pub fn length(&self) -> usize {
        self.record.length as usize
    }

    /// Its canonical form, without the newline after it. The first read checks that the bytes are those written.
    pub fn blob(&self) -> Result<&'a [u8], StoreError> {
        let line = self.content.line(self.position, &self.record)?;
        Ok(line.strip_suffix(b"\n").unwrap_or(line))
    }

    /// Its canonical form with the newline after it, which stays alive without the store.
    pub fn line(&self) -> Result<Bytes, StoreError> {
        let line = self.content.line(self.position, &self.record)?;
        Ok(self.content.share(line))
    }
}

impl std::fmt::Debug for StoredMeta<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("StoredMeta")
            .field("position", &self.position)
            .field("schema", &self.schema())
            .field("package", &self.package())
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}
