// A to-many relationship as an array.
import Strata

@Model final class Left {
    var rights: [Right]
}

@Model final class Right {
    var name: String
}
