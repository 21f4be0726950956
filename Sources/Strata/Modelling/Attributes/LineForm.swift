import Foundation

/// The form of an attribute's values in lines of JSON.
enum LineForm {
    case plain, truth, date, uuid, bytes

    init(of type: (any AttributeValue.Type)?) {
        switch type {
        case is Bool.Type: self = .truth
        case is Date.Type: self = .date
        case is UUID.Type: self = .uuid
        case is ExternalData.Type: self = .bytes
        default: self = .plain
        }
    }
}
