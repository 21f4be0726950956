// An attribute whose type is not the value type of its transformer.
import Strata

enum Upper: ValueTransformer {
    static func store(_ value: Int) -> String { "\(value)" }
    static func load(_ text: String) -> Int { text.utf8.count }
}

@Model final class Left {
    @Attribute(.transformed(by: Upper.self)) var name: Double = 0
}
