//! A GraphQL document: its operations, and the fields that each selects at the root.
//!
//! `apollo-parser` goes on after an error with what it understood; any error here refuses the document whole.

use std::collections::{BTreeSet, HashMap, HashSet};

use apollo_parser::cst::{Definition, Document, FragmentDefinition, OperationDefinition, Selection, SelectionSet};
use apollo_parser::{Lexer, Parser, SyntaxTree, TokenKind};

use super::{OperationError, OperationKind, RootSelection};

/// Bounds on what is parsed: nesting, and tokens (blanks and comments are some).
const MAX_NESTING: usize = 128;
const MAX_TOKENS: usize = 20_000;

type Fragments = HashMap<String, SelectionSet>;

/// Every operation of the document: which of them a server executes is its own choice, so all of them must be allowed. With
/// `operation_name`, one of them must have that name; without, there must be only one.
pub fn document(text: &str, operation_name: Option<&str>) -> Result<Vec<RootSelection>, OperationError> {
    // Some grammars end a comment at these, and serve what follows as the document; the specification does not.
    if text.contains(['\u{2028}', '\u{2029}']) {
        return Err(OperationError::Document);
    }
    let tree: SyntaxTree<Document> = Parser::new(text).recursion_limit(MAX_NESTING).token_limit(MAX_TOKENS).parse();
    if tree.errors().next().is_some() || breaks_a_string(text) {
        return Err(OperationError::Document);
    }
    let mut definitions = Vec::new();
    let mut fragments = Fragments::new();
    for definition in tree.document().definitions() {
        match definition {
            Definition::OperationDefinition(operation) => definitions.push(operation),
            Definition::FragmentDefinition(fragment) => {
                let (name, selection) = parts(&fragment).ok_or(OperationError::Document)?;
                if fragments.insert(name, selection).is_some() {
                    return Err(OperationError::Definition);
                }
            }
            // Schema definitions are no requests.
            _ => return Err(OperationError::Document),
        }
    }
    let operations = definitions
        .iter()
        .map(|definition| root(definition, &fragments))
        .collect::<Result<Vec<_>, _>>()?;
    check_names(&operations, operation_name.filter(|name| !name.is_empty()))?;
    Ok(operations)
}

/// The parser takes a line end within a plain string, where other readers end the string or give up.
fn breaks_a_string(text: &str) -> bool {
    Lexer::new(text).with_limit(MAX_TOKENS).any(|token| {
        token.is_ok_and(|token| {
            let plain = token.kind() == TokenKind::StringValue && !token.data().starts_with("\"\"\"");
            plain && token.data().contains(['\n', '\r'])
        })
    })
}

fn parts(fragment: &FragmentDefinition) -> Option<(String, SelectionSet)> {
    let name = fragment.fragment_name()?.name()?.text().to_string();
    Some((name, fragment.selection_set()?))
}

fn check_names(operations: &[RootSelection], wanted: Option<&str>) -> Result<(), OperationError> {
    let mut names = HashSet::new();
    if !operations.iter().all(|operation| names.insert(operation.name.as_deref())) {
        return Err(OperationError::Definition);
    }
    match wanted {
        _ if operations.is_empty() => Err(OperationError::Document),
        Some(name) if names.contains(&Some(name)) => Ok(()),
        Some(_) => Err(OperationError::Definition),
        None if operations.len() == 1 => Ok(()),
        None => Err(OperationError::NoneSelected),
    }
}

fn root(definition: &OperationDefinition, fragments: &Fragments) -> Result<RootSelection, OperationError> {
    let kind = match definition.operation_type() {
        None => OperationKind::Query,
        Some(kind) if kind.mutation_token().is_some() => OperationKind::Mutation,
        Some(kind) if kind.subscription_token().is_some() => OperationKind::Subscription,
        Some(kind) if kind.query_token().is_some() => OperationKind::Query,
        Some(_) => return Err(OperationError::Document),
    };
    let selection = definition.selection_set().ok_or(OperationError::Document)?;
    Ok(RootSelection {
        kind,
        name: definition.name().map(|name| name.text().as_str().into()),
        fields: fields(selection, fragments)?,
    })
}

/// Fragments are looked into at the root only, each once: a chain of them costs no stack, a circle ends.
fn fields(selection: SelectionSet, fragments: &Fragments) -> Result<Box<[Box<str>]>, OperationError> {
    let mut fields: BTreeSet<Box<str>> = BTreeSet::new();
    let mut seen = HashSet::new();
    let mut open = vec![selection];
    while let Some(selection) = open.pop() {
        for selected in selection.selections() {
            match selected {
                Selection::Field(field) => {
                    let name = field.name().ok_or(OperationError::Document)?;
                    fields.insert(name.text().as_str().into());
                }
                Selection::InlineFragment(fragment) => open.push(fragment.selection_set().ok_or(OperationError::Document)?),
                Selection::FragmentSpread(spread) => {
                    let name = spread
                        .fragment_name()
                        .and_then(|name| name.name())
                        .ok_or(OperationError::Document)?;
                    let name = name.text().to_string();
                    let definition = fragments.get(&name).ok_or(OperationError::Definition)?;
                    if seen.insert(name) {
                        open.push(definition.clone());
                    }
                }
            }
        }
    }
    if fields.is_empty() {
        return Err(OperationError::Document);
    }
    Ok(fields.into_iter().collect())
}
