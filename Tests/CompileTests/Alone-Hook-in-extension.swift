// A method with the name of a hook, which is not called.
import Strata

@Model final class Left {
    var name: String
}

extension Left {
    func willInsert(_ number: Int) {}
    func didFetch(in context: ObjectContext) throws {}
}
