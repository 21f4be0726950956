public import Strata

/// What a node stands for: its bytes follow from this.
@Model public final class Draft {
    public var seed: Int
    public var size: Int
}

/// What the handler has been told, one object in each commit that it was told in.
@Model public final class Report {
    public var text: String
}
