/// A to-many relationship in a query, for conditions on its members.
///
/// ```swift
/// Article.where { $0.comments.any { $0.text.contains("thanks") } && $0.comments.count < 100 }
/// ```
///
/// The closure is about the members alone. Columns of the outer object do not compile in the closure.
public struct RelationshipExpression<Root: Model, Member: Model>: Sendable {
    let members: MembersNode

    init(_ members: MembersNode) { self.members = members }

    /// True if at least one member meets the condition.
    public func any(_ condition: (Member.Columns) -> Condition<Member>) -> Condition<Root> {
        Condition(.exists(narrowed(condition(Member.columns).node)))
    }

    /// True if every member meets the condition, or if there are no members.
    public func all(_ condition: (Member.Columns) -> Condition<Member>) -> Condition<Root> {
        Condition(.not(.exists(narrowed(!condition(Member.columns).node))))
    }

    /// True if no member meets the condition.
    public func none(_ condition: (Member.Columns) -> Condition<Member>) -> Condition<Root> {
        Condition(.not(.exists(narrowed(condition(Member.columns).node))))
    }

    /// True if there are no members.
    public var isEmpty: Condition<Root> { Condition(.not(.exists(members))) }

    /// The number of members.
    public var count: Column<Root, Int> { Column(.count(members)) }

    /// The number of members that meet the condition.
    public func count(where condition: (Member.Columns) -> Condition<Member>) -> Column<Root, Int> {
        Column(.count(narrowed(condition(Member.columns).node)))
    }

    /// True if the object is a member.
    public func contains(_ member: Member) -> Condition<Root> { contains(member.id) }

    /// True if the object with this id is a member.
    public func contains(_ member: ObjectID<Member>) -> Condition<Root> {
        Condition(.exists(narrowed(.equal(.id(RelationshipPath()), .value(ValueNode(member))))))
    }

    private func narrowed(_ condition: ConditionNode) -> MembersNode {
        var result = members
        result.condition = condition
        return result
    }
}
