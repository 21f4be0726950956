/// A to-many relationship in a query: a question about its members.
///
/// ```swift
/// Article.where { $0.comments.any { $0.text.contains("thanks") } && $0.comments.count < 100 }
/// ```
///
/// The closure is about the members alone; columns of the outer object do not compile in it.
public struct ToMany<Root: Model, Member: Model>: Sendable {
    let members: MembersNode

    init(_ members: MembersNode) { self.members = members }

    /// True where some member meets the condition.
    public func any(_ condition: (Member.Columns) -> Condition<Member>) -> Condition<Root> {
        Condition(.exists(narrowed(condition(Member.columns).node)))
    }

    /// True where every member meets the condition, also where there is none.
    public func all(_ condition: (Member.Columns) -> Condition<Member>) -> Condition<Root> {
        Condition(.not(.exists(narrowed(!condition(Member.columns).node))))
    }

    /// True where no member meets the condition.
    public func none(_ condition: (Member.Columns) -> Condition<Member>) -> Condition<Root> {
        Condition(.not(.exists(narrowed(condition(Member.columns).node))))
    }

    /// True where there is no member.
    public var isEmpty: Condition<Root> { Condition(.not(.exists(members))) }

    /// How many members there are.
    public var count: Column<Root, Int> { Column(.count(members)) }

    /// How many members meet the condition.
    public func count(where condition: (Member.Columns) -> Condition<Member>) -> Column<Root, Int> {
        Column(.count(narrowed(condition(Member.columns).node)))
    }

    /// True where the object is a member.
    public func contains(_ member: Member) -> Condition<Root> { contains(member.id) }

    /// True where the object with this id is a member.
    public func contains(_ member: ObjectID<Member>) -> Condition<Root> {
        Condition(.exists(narrowed(.equal(.id(RelationshipPath()), .value(ValueNode(member))))))
    }

    private func narrowed(_ condition: ConditionNode) -> MembersNode {
        var result = members
        result.condition = condition
        return result
    }
}
