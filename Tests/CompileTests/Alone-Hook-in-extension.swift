// Methods with the names of hooks and of a validation, which are not called.
import Strata

@Model final class Left {
    var name: String
}

@Model final class Right {
    var name: String
}

extension Left {
    func willInsert(_ number: Int) {}
    func didFetch(in context: ObjectContext) throws {}
    func validate(in context: ObjectContext, _ failures: inout Validation<Right>) {}
}
