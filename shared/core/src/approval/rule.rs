//! The rule of an approval policy: when the approving decisions are enough (AIP 1.0 §12.1).
//!
//! A rule is a tree over numbered leaves; a decision satisfies the leaves that its decider's verified authority satisfies.
//! What a decision may be *used for* is the question:
//!
//! - In an `all` without `allow_decision_reuse`, and in a `quorum` of distinct principals, a decision is used in one branch
//!   only, however deep its leaf lies in there.
//! - In every other composite a decision may be used in several branches.
//! - The rule is satisfied if the decisions *can* be used so that it is: no order of arrival, and no first-come choice, takes
//!   that away.
//!
//! That is an assignment of decisions to leaves, and finding one is exact here: [`Rule::is_satisfied`] walks all sets of
//! leaves that can be satisfied together. It needs at most `votes × 2^leaves × uses` operations, with 32 votes, 12 leaves
//! and 3^4 uses of one decision: about ten million.
//!
//! Besides, at least `minimum_distinct_principals` principals must have approved who satisfy some leaf.

use aip_types::{ApprovalPolicy, ApprovalRule, Millis, PrincipalId, limits};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::String,
    vec,
    vec::Vec,
};

use super::Rejection;
use super::authority::{Governed, Leaf, Satisfies, Standing, VerifiedAuthority};

/// A set of leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Leaves(u16);

impl Leaves {
    /// No leaf.
    pub const NONE: Self = Self(0);

    /// The one leaf with this number; none, where no rule has so many.
    #[must_use]
    pub fn one(leaf: u8) -> Self {
        Self(if usize::from(leaf) < limits::APPROVAL_RULE_LEAVES_MAX { 1 << leaf } else { 0 })
    }

    /// The leaves of these that count at a time.
    #[must_use]
    pub fn standing(standings: &[Standing], at: Millis) -> Self {
        standings.iter().filter(|standing| standing.holds(at)).map(|standing| Self::one(standing.leaf)).collect()
    }

    /// Nothing.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// What both have.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// What either has.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn has(self, leaf: u8) -> bool {
        !self.and(Self::one(leaf)).is_empty()
    }
}

impl FromIterator<Self> for Leaves {
    fn from_iter<I: IntoIterator<Item = Self>>(leaves: I) -> Self {
        leaves.into_iter().fold(Self::NONE, Self::or)
    }
}

/// The rule of a policy, checked and with its leaves numbered.
#[derive(Clone, Debug)]
pub struct Rule<'a> {
    root: Node,
    leaves: Vec<Leaf<'a>>,
    principals_min: usize,
}

#[derive(Clone, Debug)]
enum Node {
    Leaf(u8),
    Branches {
        /// How many of them must be satisfied.
        required: usize,
        /// A decision is used in one of them only.
        apart: bool,
        of: Vec<Node>,
    },
}

impl<'a> Rule<'a> {
    /// Reads the rule of a policy; the selector, and the delegate that the policy names, where it has no rule.
    ///
    /// # Errors
    /// [`Rejection::RuleInvalid`]: it has more leaves or levels than we evaluate, asks for more principals than have a vote,
    /// or has a part that nobody can satisfy: an empty composite, or a quorum of none or of more than there are.
    pub fn of(policy: &'a ApprovalPolicy) -> Result<Self, Rejection> {
        let principals_min = usize::try_from(policy.minimum_distinct_principals.max(1)).unwrap_or(usize::MAX);
        if principals_min > limits::APPROVAL_VOTES_MAX {
            return Err(Rejection::RuleInvalid);
        }
        let mut leaves = Vec::new();
        let root = match (&policy.rule, &policy.delegated_authority) {
            (Some(rule), _) => read(rule, 0, &mut leaves)?,
            (None, None) => leaf(Leaf::of_selector(policy), &mut leaves)?,
            (None, Some(lent)) => {
                let of = vec![leaf(Leaf::of_selector(policy), &mut leaves)?, leaf(Leaf::Delegate(lent), &mut leaves)?];
                Node::Branches { required: 1, apart: false, of }
            }
        };
        Ok(Self { root, leaves, principals_min })
    }

    /// The leaves that a decider satisfies.
    ///
    /// # Errors
    /// [`Rejection::GrantExpired`] if there is none but there was one, [`Rejection::NotAuthorised`] if there is none.
    pub fn standings(
        &self,
        authority: &VerifiedAuthority,
        governed: &Governed<'_>,
        at: Millis,
    ) -> Result<Vec<Standing>, Rejection> {
        let mut standings = Vec::new();
        let mut refusal = Rejection::NotAuthorised;
        for (number, leaf) in (0_u8..).zip(&self.leaves) {
            match leaf.check(authority, governed, at) {
                Satisfies::No => {}
                Satisfies::NoMore => refusal = Rejection::GrantExpired,
                Satisfies::Until(until) => standings.push(Standing { leaf: number, until }),
            }
        }
        if standings.is_empty() { Err(refusal) } else { Ok(standings) }
    }

    /// How a decider came by its authority, for readers.
    pub(super) fn paths(&self, leaves: Leaves) -> Vec<String> {
        (0_u8..).zip(&self.leaves).filter(|(number, _)| leaves.has(*number)).map(|(_, leaf)| leaf.path()).collect()
    }

    /// Whether these approving principals are enough. What a principal satisfies must hold now; it has one decision.
    #[must_use]
    pub fn is_satisfied(&self, votes: &BTreeMap<&PrincipalId, Leaves>) -> bool {
        let votes: Vec<_> = votes.values().copied().filter(|leaves| !leaves.is_empty()).collect();
        if votes.len() < self.principals_min || !self.root.is_satisfied(votes.iter().copied().collect()) {
            return false;
        }
        let mut reached = vec![false; 1 << self.leaves.len()];
        if let Some(none) = reached.first_mut() {
            *none = true;
        }
        for vote in votes {
            let uses = self.root.uses(vote);
            // Downwards: a use adds leaves, so what this vote reaches lies where it has been already.
            for before in (0_u16..1 << self.leaves.len()).rev() {
                if !reached.get(usize::from(before)).is_some_and(|reached| *reached) {
                    continue;
                }
                for used in &uses {
                    let after = Leaves(before).or(*used);
                    if self.root.is_satisfied(after) {
                        return true;
                    }
                    if let Some(reached) = reached.get_mut(usize::from(after.0)) {
                        *reached = true;
                    }
                }
            }
        }
        false
    }
}

impl Node {
    /// Whether it holds when exactly these leaves are satisfied.
    fn is_satisfied(&self, leaves: Leaves) -> bool {
        match self {
            Self::Leaf(leaf) => leaves.has(*leaf),
            Self::Branches { required, of, .. } => {
                of.iter().filter(|node| node.is_satisfied(leaves)).count() >= *required
            }
        }
    }

    /// What a decision that satisfies these leaves may be used for: the largest sets of leaves of which no two lie in
    /// branches that must be kept apart.
    fn uses(&self, leaves: Leaves) -> BTreeSet<Leaves> {
        match self {
            Self::Leaf(leaf) => [Leaves::one(*leaf).and(leaves)].into(),
            Self::Branches { apart: true, of, .. } => {
                let mut uses: BTreeSet<_> = of.iter().flat_map(|node| node.uses(leaves)).collect();
                if uses.len() > 1 {
                    uses.remove(&Leaves::NONE);
                }
                uses
            }
            Self::Branches { apart: false, of, .. } => of.iter().fold([Leaves::NONE].into(), |uses, node| {
                let more = node.uses(leaves);
                uses.iter().flat_map(|one| more.iter().map(|other| one.or(*other))).collect()
            }),
        }
    }
}

fn leaf<'a>(leaf: Leaf<'a>, leaves: &mut Vec<Leaf<'a>>) -> Result<Node, Rejection> {
    let number = u8::try_from(leaves.len()).map_err(|_| Rejection::RuleInvalid)?;
    if leaves.len() >= limits::APPROVAL_RULE_LEAVES_MAX {
        return Err(Rejection::RuleInvalid);
    }
    leaves.push(leaf);
    Ok(Node::Leaf(number))
}

fn read<'a>(rule: &'a ApprovalRule, depth: usize, leaves: &mut Vec<Leaf<'a>>) -> Result<Node, Rejection> {
    let (required, apart, rules) = match rule {
        ApprovalRule::All(all) => (all.rules.len(), !all.allow_decision_reuse, &all.rules),
        ApprovalRule::Any(any) => (1, false, &any.rules),
        ApprovalRule::Quorum(quorum) => {
            (usize::try_from(quorum.required).unwrap_or(usize::MAX), quorum.distinct_principals, &quorum.rules)
        }
        ApprovalRule::Principal(rule) => return leaf(Leaf::Principal(&rule.id), leaves),
        ApprovalRule::Role(rule) => return leaf(Leaf::Role(&rule.name), leaves),
        ApprovalRule::Group(rule) => return leaf(Leaf::Group(&rule.name), leaves),
        ApprovalRule::TenantPolicy(rule) => return leaf(Leaf::TenantPolicy(Some(&rule.policy_id)), leaves),
        ApprovalRule::ExternalSystem(rule) => return leaf(Leaf::ExternalSystem(&rule.system), leaves),
        ApprovalRule::DelegatedAuthority(rule) => return leaf(Leaf::DelegatedAuthority(rule), leaves),
    };
    if depth >= limits::APPROVAL_RULE_DEPTH_MAX || required == 0 || required > rules.len() {
        return Err(Rejection::RuleInvalid);
    }
    let of = rules.iter().map(|rule| read(rule, depth + 1, leaves)).collect::<Result<_, _>>()?;
    Ok(Node::Branches { required, apart, of })
}
