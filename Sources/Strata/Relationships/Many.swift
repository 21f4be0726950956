/// A to-many relationship: a lazy handle that answers questions about the objects at the other end.
public struct Many<Object: Model> {
    public init(_$owner owner: some Model, relationship: Int) {}
}
