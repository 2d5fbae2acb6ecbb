//! Which machines there are and which links join them.

use crate::error::ShaperError;
use std::net::Ipv4Addr;
use study_ident::SeedPath;
use study_link::LinkParams;

/// One link between two nodes. `down` of its parameters leads towards `near`, `up` away from it.
#[derive(Debug, Clone)]
pub struct LinkSpec {
    /// Name, for records and messages.
    pub name: String,
    /// The node on the viewer's side.
    pub near: String,
    /// The node on the origin's side.
    pub far: String,
    /// Both directions.
    pub params: LinkParams,
    /// Where its randomness comes from: `down` and `up` under it, as in the simulator.
    pub seed: SeedPath,
}

/// Nodes and links. Each node is a network namespace, each link a pair of interfaces with a network of its own.
#[derive(Debug, Clone, Default)]
pub struct Topology {
    /// Names of the nodes.
    pub nodes: Vec<String>,
    /// The links; nodes that share one talk to each other, others do not.
    pub links: Vec<LinkSpec>,
}

/// An end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The viewer's side.
    Near,
    /// The origin's side.
    Far,
}

impl Topology {
    /// Nodes in a row, each joined to the next: `client - edge - shield - origin`. `links[i]` is between node `i` and `i + 1`
    /// and is called `node-node`; its seed is the child of `seed` with that name.
    ///
    /// # Errors
    /// When there is not one link less than nodes.
    pub fn chain(nodes: &[&str], links: Vec<LinkParams>, seed: SeedPath) -> Result<Self, ShaperError> {
        if links.len() + 1 != nodes.len() {
            return Err(ShaperError::Topology(format!(
                "{} nodes in a row need {} links, not {}",
                nodes.len(),
                nodes.len().saturating_sub(1),
                links.len()
            )));
        }
        let links = nodes.windows(2).zip(links).map(|(pair, params)| {
            let name = format!("{}-{}", pair[0], pair[1]);
            LinkSpec { seed: seed.child(&name), name, near: pair[0].to_owned(), far: pair[1].to_owned(), params }
        });
        Ok(Self { nodes: nodes.iter().map(|&n| n.to_owned()).collect(), links: links.collect() })
    }
    /// Position of a node.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn node(&self, name: &str) -> Result<usize, ShaperError> {
        let known = || format!("there is no node `{name}`; there are: {}", self.nodes.join(", "));
        self.nodes.iter().position(|n| n == name).ok_or_else(|| ShaperError::Topology(known()))
    }
    /// Checks names and ends.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), ShaperError> {
        for (i, node) in self.nodes.iter().enumerate() {
            if self.nodes[..i].contains(node) {
                return Err(ShaperError::Topology(format!("two nodes are called `{node}`")));
            }
        }
        for (i, link) in self.links.iter().enumerate() {
            if self.links[..i].iter().any(|other| other.name == link.name) {
                return Err(ShaperError::Topology(format!("two links are called `{}`", link.name)));
            }
            if self.node(&link.near)? == self.node(&link.far)? {
                return Err(ShaperError::Topology(format!("link `{}` joins `{}` to itself", link.name, link.near)));
            }
            if !link.params.is_resolved() {
                return Err(ShaperError::Topology(format!("the rate of link `{}` still waits for a file", link.name)));
            }
        }
        if self.links.len() > 16_384 { Err(ShaperError::Topology("more than 16,384 links".to_owned())) } else { Ok(()) }
    }
}

/// Bits of the network part of a link's addresses.
pub(crate) const PREFIX: u8 = 30;

/// The address of an end of the link with this position: a network of four addresses per link, from 10.64.0.0 on.
pub(crate) fn address(link: usize, end: End) -> Ipv4Addr {
    let host = match end {
        End::Near => 1,
        End::Far => 2,
    };
    Ipv4Addr::from_bits(0x0a40_0000 + 4 * link as u32 + host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use study_link::{DirectionParams, Rate};
    use study_units::SimDuration;

    fn link() -> LinkParams {
        let way = DirectionParams::plain(SimDuration::from_millis(1), Rate::Unlimited);
        LinkParams { down: way.clone(), up: way }
    }

    #[test]
    fn a_chain_joins_neighbours_and_addresses_do_not_meet() {
        let chain = Topology::chain(&["client", "edge", "origin"], vec![link(), link()], SeedPath::root(1)).unwrap();
        chain.check().unwrap();
        assert_eq!(chain.links[1].name, "edge-origin");
        assert_eq!(address(0, End::Near).to_string(), "10.64.0.1");
        assert_eq!(address(64, End::Far).to_string(), "10.64.1.2");
        assert!(Topology::chain(&["client", "edge"], vec![], SeedPath::root(1)).is_err());
    }

    #[test]
    fn what_means_nothing_is_refused() {
        let mut chain = Topology::chain(&["a", "b"], vec![link()], SeedPath::root(1)).unwrap();
        chain.links[0].far = "a".to_owned();
        assert!(chain.check().unwrap_err().to_string().contains("to itself"));
        chain.links[0].far = "c".to_owned();
        assert!(chain.check().unwrap_err().to_string().contains("there are: a, b"));
        chain.nodes = vec!["a".to_owned(), "a".to_owned()];
        assert!(chain.check().unwrap_err().to_string().contains("two nodes"));
    }
}
