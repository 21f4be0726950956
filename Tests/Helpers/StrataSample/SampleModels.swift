import Strata
import StrataPipeline

@Model final class Album {
    @Attribute(.unique) var name: String
    @Relationship(inverse: \Photo.album) var photos: Many<Photo>
}

@Model final class Photo {
    var title: String
    var width: Int = 0
    var album: Album?
}

struct Resize: OperationPayload {
    var file: String
    var width: Int
}

struct Letter: OperationPayload {
    var text: String
}
