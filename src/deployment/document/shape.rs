//! Tables of what a file may hold. The reader, the JSON Schema for editors and the messages are
//! all made from them, so that they cannot disagree.

/// What a value may be.
#[derive(Debug)]
pub enum Shape {
    /// Anything.
    Any,
    /// Whatever other code says; it is not looked at here.
    Elsewhere,
    /// Any JSON object.
    Object,
    /// A string.
    Text,
    /// A string that is not empty.
    Name,
    /// A string in which `{{…}}` is expanded later; it may start with it without quotes.
    Template,
    /// Anything, with such strings in it.
    AnyTemplate,
    /// `true` or `false`.
    Bool,
    /// Something that is on by being there: nothing, `{}` or `true`.
    Flag,
    /// `true`, `false`, or a share.
    Chance,
    /// A whole number from the first to the second.
    Whole(i64, i64),
    /// A number of 0 to 1.
    Share,
    /// A number above 0.
    Positive,
    /// A duration.
    Duration {
        /// Whether zero is allowed.
        zero: bool,
    },
    /// A duration above zero, or `off`.
    DurationOrOff,
    /// One of these strings.
    Choice(&'static [&'static str]),
    /// An `http` or `https` address.
    Url,
    /// A file or directory, relative to the file that is read; `~` is the home directory.
    File,
    /// A tool name or a glob.
    Glob,
    /// A regular expression.
    Pattern,
    /// A list.
    List(&'static Shape),
    /// One value, or a list of them.
    OneOrMany(&'static Shape),
    /// A map with keys of the user's choice.
    Map(&'static Shape),
    /// A map with fixed keys.
    Fields(&'static Table),
}

/// The fixed keys of a map.
#[derive(Debug)]
pub struct Table {
    /// What the map is, for the schema: a word such as `server`, unique among all tables.
    pub name: &'static str,
    /// The keys.
    pub fields: &'static [Field],
}

/// One key of a map.
#[derive(Debug)]
pub struct Field {
    /// The key.
    pub key: &'static str,
    /// What its value may be.
    pub shape: Shape,
    /// Whether it has to be there.
    pub required: bool,
    /// One line for editors: what it does, and its default.
    pub doc: &'static str,
}

impl Field {
    /// A key that may be left out.
    pub const fn optional(key: &'static str, shape: Shape, doc: &'static str) -> Self {
        Self {
            key,
            shape,
            required: false,
            doc,
        }
    }

    /// A key that has to be there.
    pub const fn required(key: &'static str, shape: Shape, doc: &'static str) -> Self {
        Self {
            key,
            shape,
            required: true,
            doc,
        }
    }
}

impl Table {
    /// The field of a key.
    pub fn field(&self, key: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.key == key)
    }

    /// All keys.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.fields.iter().map(|field| field.key)
    }
}
