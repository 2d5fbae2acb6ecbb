//! One declaration per parameter: field, default, range, documentation, schema and canonical form.

/// Declares a struct of parameters.
///
/// ```
/// study_tree::params! {
///     /// How a player behaves.
///     pub struct Player {
///         /// Segments in flight at once.
///         prefetch: u32 = 3, in 1..=64;
///         /// Longest buffer.
///         max_buffer: study_units::SimDuration = study_units::SimDuration::from_secs(30);
///         /// Name of the algorithm; has no default, so it must be given.
///         abr: String;
///     }
/// }
/// ```
/// Gives public fields, `Debug`, `Clone`, `PartialEq`, serde (for the canonical document), and [`Decode`](crate::Decode).
/// A `#[serde(...)]` may follow a field's documentation, so that a later parameter leaves the documents of before as they are.
#[macro_export]
macro_rules! params {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $( $(#[doc = $doc:literal])* $(#[serde($($serde:tt)*)])? $field:ident : $ty:ty $(= $default:expr)? $(, in $range:expr)? ; )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, $crate::serde::Serialize, $crate::serde::Deserialize)]
        #[serde(crate = "study_tree::serde")]
        $vis struct $name { $( $(#[doc = $doc])* $(#[serde($($serde)*)])? pub $field : $ty, )* }

        impl $crate::Decode for $name {
            fn decode(node: &$crate::Node, cx: &mut $crate::Cx<'_>) -> Option<Self> {
                let mut map = $crate::MapReader::new(node, cx)?;
                $( let $field: Option<$ty> = $crate::params!(@read map, $field $(, $default)?); )*
                $( $crate::params!(@range map, $field $(, $range)?); )*
                if !map.finish() { return None; }
                Some(Self { $( $field: $field?, )* })
            }
            fn schema() -> $crate::serde_json::Value {
                let mut properties = $crate::serde_json::Map::new();
                #[allow(unused_mut)]
                let mut required: Vec<&str> = Vec::new();
                $(
                    #[allow(unused_mut)]
                    let mut schema = <$ty as $crate::Decode>::schema();
                    if let Some(object) = schema.as_object_mut() {
                        let doc: &str = concat!("", $($doc),*);
                        if !doc.is_empty() { object.insert("description".into(), doc.trim().into()); }
                        $crate::params!(@schema object, required, $field, $ty $(, $default)?);
                        $( object.insert("x-range".into(), stringify!($range).into()); )?
                    }
                    properties.insert(stringify!($field).to_owned(), schema);
                )*
                $crate::serde_json::json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
            }
        }
    };
    (@read $map:ident, $field:ident) => { $map.required(stringify!($field)) };
    (@read $map:ident, $field:ident, $default:expr) => { $map.or(stringify!($field), || $default) };
    (@range $map:ident, $field:ident) => {};
    (@range $map:ident, $field:ident, $range:expr) => {
        if let Some(value) = &$field && !($range).contains(value) {
            $map.out_of_range(stringify!($field), stringify!($range));
        }
    };
    (@schema $object:ident, $required:ident, $field:ident, $ty:ty) => { $required.push(stringify!($field)); };
    (@schema $object:ident, $required:ident, $field:ident, $ty:ty, $default:expr) => {
        let default: $ty = $default;
        if let Ok(value) = $crate::serde_json::to_value(&default) { $object.insert("default".into(), value); }
    };
}

/// Declares an enum of named choices without data.
///
/// ```
/// study_tree::choices! {
///     /// In which order streams share a connection.
///     pub enum Scheduler {
///         /// A frame of each stream in turn.
///         RoundRobin = "round_robin",
///         /// One stream after the other.
///         Sequential = "sequential",
///     }
/// }
/// ```
/// Gives `ALL`, `name()`, serde as the name, and [`Decode`](crate::Decode) with "did you mean".
#[macro_export]
macro_rules! choices {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident { $( $(#[doc = $doc:literal])* $variant:ident = $text:literal ),* $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, $crate::serde::Serialize, $crate::serde::Deserialize)]
        #[serde(crate = "study_tree::serde")]
        $vis enum $name { $( $(#[doc = $doc])* #[serde(rename = $text)] $variant, )* }

        impl $name {
            /// Every choice, in the order of the declaration.
            pub const ALL: &'static [Self] = &[$( Self::$variant ),*];
            /// The name in study files and frames.
            #[must_use]
            pub const fn name(self) -> &'static str { match self { $( Self::$variant => $text ),* } }
        }
        impl $crate::Decode for $name {
            fn decode(node: &$crate::Node, cx: &mut $crate::Cx<'_>) -> Option<Self> {
                let known: Vec<&str> = Self::ALL.iter().map(|c| c.name()).collect();
                if let Some(found) = node.text().and_then(|t| Self::ALL.iter().find(|c| c.name() == t)) {
                    return Some(*found);
                }
                let help = node.text().and_then(|t| $crate::did_you_mean(t, &known))
                    .unwrap_or_else(|| format!("use one of: {}", known.join(", ")));
                cx.push($crate::Diagnostic::error("unknown-value", node.span,
                    format!("{} is not one of: {}", node.describe(), known.join(", "))).help(help));
                None
            }
            fn schema() -> $crate::serde_json::Value {
                $crate::serde_json::json!({ "enum": [$( $text ),*] })
            }
        }
    };
}

/// Declares an enum whose variants carry parameters: written `none`, or `{ name: parameters }`.
///
/// ```
/// study_tree::params! { pub struct Bernoulli { /// Share lost.
///     rate: study_units::Probability; } }
/// study_tree::variants! {
///     /// Why packets are lost.
///     pub enum Loss {
///         unit { /// Nothing is lost.
///             None = "none" }
///         data { /// Independent losses.
///             Bernoulli(Bernoulli) = "bernoulli" }
///     }
/// }
/// ```
/// A third group between the two, `defaulted`, is for variants whose parameters all have defaults: they are written `bba`
/// or `{ bba: { reservoir: 8 s } }`, and the canonical document has the parameters in both cases.
#[macro_export]
macro_rules! variants {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            unit { $( $(#[doc = $udoc:literal])* $unit:ident = $utext:literal ),* $(,)? }
            $( defaulted { $( $(#[doc = $odoc:literal])* $opt:ident ( $oty:ty ) = $otext:literal ),* $(,)? } )?
            data { $( $(#[doc = $ddoc:literal])* $data:ident ( $ty:ty ) = $dtext:literal ),* $(,)? }
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, $crate::serde::Serialize, $crate::serde::Deserialize)]
        #[serde(crate = "study_tree::serde")]
        $vis enum $name {
            $( $(#[doc = $udoc])* #[serde(rename = $utext)] $unit, )*
            $( $( $(#[doc = $odoc])* #[serde(rename = $otext)] $opt($oty), )* )?
            $( $(#[doc = $ddoc])* #[serde(rename = $dtext)] $data($ty), )*
        }
        impl $name {
            /// The name of the variant in study files.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self { $( Self::$unit => $utext, )* $( $( Self::$opt(_) => $otext, )* )? $( Self::$data(_) => $dtext, )* }
            }
        }
        impl $crate::Decode for $name {
            fn decode(node: &$crate::Node, cx: &mut $crate::Cx<'_>) -> Option<Self> {
                let units: &[&str] = &[$( $utext, )* $( $( $otext, )* )?];
                let datas: &[&str] = &[$( $dtext ),*];
                let known: Vec<&str> = units.iter().chain(datas).copied().collect();
                let refuse = |cx: &mut $crate::Cx<'_>, span, found: &str| {
                    let help = $crate::did_you_mean(found, &known).unwrap_or_else(|| {
                        format!("write {}", units.iter().map(|u| format!("`{u}`"))
                            .chain(datas.iter().map(|d| format!("`{{ {d}: ... }}`"))).collect::<Vec<_>>().join(" or "))
                    });
                    cx.push($crate::Diagnostic::error("unknown-value", span,
                        format!("`{found}` is not one of: {}", known.join(", "))).help(help));
                };
                match &node.value {
                    $crate::Value::Scalar(s) => {
                        $( if s.text == $utext { return Some(Self::$unit); } )*
                        $( $( if s.text == $otext {
                            let defaults = $crate::Node::map(Vec::new(), node.span);
                            return <$oty as $crate::Decode>::decode(&defaults, cx).map(Self::$opt);
                        } )* )?
                        if datas.contains(&s.text.as_str()) {
                            cx.push($crate::Diagnostic::error("wrong-type", node.span,
                                format!("`{}` needs its parameters", s.text)).help(format!("write `{{ {}: ... }}`", s.text)));
                        } else {
                            refuse(cx, node.span, &s.text);
                        }
                        None
                    }
                    $crate::Value::Map(entries) if entries.len() == 1 => {
                        let entry = &entries[0];
                        $( $( if entry.key == $otext {
                            return <$oty as $crate::Decode>::decode(&entry.value, cx).map(Self::$opt);
                        } )* )?
                        $( if entry.key == $dtext {
                            return <$ty as $crate::Decode>::decode(&entry.value, cx).map(Self::$data);
                        } )*
                        refuse(cx, entry.key_span, &entry.key);
                        None
                    }
                    _ => {
                        cx.push($crate::Diagnostic::error("wrong-type", node.span,
                            format!("expected exactly one of: {}", known.join(", ")))
                            .help("write one name, or one `{ name: parameters }`"));
                        None
                    }
                }
            }
            fn schema() -> $crate::serde_json::Value {
                let mut options: Vec<$crate::serde_json::Value> = Vec::new();
                let units: &[&str] = &[$( $utext, )* $( $( $otext, )* )?];
                if !units.is_empty() { options.push($crate::serde_json::json!({ "enum": units })); }
                $( $( options.push($crate::serde_json::json!({
                    "type": "object", "description": concat!("", $($odoc),*).trim(),
                    "properties": { $otext: <$oty as $crate::Decode>::schema() },
                    "required": [$otext], "additionalProperties": false })); )* )?
                $( options.push($crate::serde_json::json!({
                    "type": "object", "description": concat!("", $($ddoc),*).trim(),
                    "properties": { $dtext: <$ty as $crate::Decode>::schema() },
                    "required": [$dtext], "additionalProperties": false })); )*
                $crate::serde_json::json!({ "anyOf": options })
            }
        }
    };
}
