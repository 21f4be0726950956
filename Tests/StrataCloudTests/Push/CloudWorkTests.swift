import Foundation
import StrataPipeline
import Testing

@testable import StrataCloud

/// The JSON of queued operations, which earlier versions have stored.
@Suite("Stored operations of an account") struct CloudWorkTests {
    private static let place = CloudWork.Place(parent: 3, name: "report", isFolder: false)
    private static let folder = CloudWork.Place(parent: 3, name: "photos", isFolder: true)

    private static let works: [(json: String, work: CloudWork)] = [
        (
            #"{"isFolder":true,"kind":"record","name":"photos","node":7,"parent":3}"#,
            .createFolder(7, folder)
        ),
        (
            """
            {"isFolder":false,"isLatestEnough":true,"kind":"content","name":"report","node":7,"parent":3,\
            "sections":8,"size":20}
            """,
            .content(7, place, CloudWork.Upload(sections: .data, size: 20))
        ),
        (
            """
            {"isFolder":false,"isLatestEnough":false,"kind":"content","name":"report","node":7,"parent":3,\
            "sections":10}
            """,
            .content(7, place, CloudWork.Upload(sections: [.data, .metadata], coalescesUploads: false))
        ),
        (
            #"{"isFolder":false,"kind":"move","name":"report","node":7,"parent":3}"#,
            .move(7, place)
        ),
        (
            """
            {"isFolder":false,"isSourceUnsent":true,"kind":"copy","name":"report","node":7,"parent":3,\
            "sections":8,"source":5,"sourceLink":"Note-1"}
            """,
            .copy(7, place, CloudWork.Copy(source: 5, sections: .data, sourceLink: "Note-1", isSourceUnsent: true))
        ),
        (
            #"{"isFolder":true,"kind":"copy","name":"photos","node":7,"parent":3,"sections":2,"source":5}"#,
            .copy(7, folder, CloudWork.Copy(source: 5, sections: .metadata))
        ),
        (#"{"kind":"delete","node":7}"#, .delete(7)),
        (
            #"{"kind":"message","name":"report 3f","node":7,"recipient":"bob","sourceLink":"Note-1"}"#,
            .message(7, CloudWork.Message(recipient: "bob", name: "report 3f", sourceLink: "Note-1"))
        ),
    ]

    @Test("Each kind is read from the stored JSON, and is stored in the same form", arguments: works.indices)
    func storedForm(index: Int) throws {
        let (json, work) = Self.works[index]
        #expect(try CloudWork.decoded(Data(json.utf8), version: 1) == work)
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        #expect(String(decoding: try encoder.encode(work), as: UTF8.self) == json)
    }

    @Test("Uploads without a kind of node and copies without sections, which earlier versions have stored, are read")
    func earlierForm() throws {
        let upload = #"{"kind":"content","node":7,"name":"report","parent":3,"sections":8,"isLatestEnough":true}"#
        #expect(
            try CloudWork.decoded(Data(upload.utf8), version: 1)
                == .content(7, Self.place, CloudWork.Upload(sections: .data))
        )
        let copy = #"{"kind":"copy","node":7,"name":"report","parent":3,"source":5}"#
        #expect(
            try CloudWork.decoded(Data(copy.utf8), version: 1)
                == .copy(7, Self.place, CloudWork.Copy(source: 5, sections: .data))
        )
    }

    @Test("Unknown values are ignored, and a payload with a missing or wrong value is not read")
    func otherForms() throws {
        let delete = #"{"later":[{"node":8}],"kind":"delete","name":null,"node":7}"#
        #expect(try CloudWork.decoded(Data(delete.utf8), version: 1) == .delete(7))
        for json in [
            #"{"kind":"content","node":7,"name":"report","parent":3,"sections":8}"#,
            #"{"kind":"content","node":7,"name":"report","parent":3,"isLatestEnough":true}"#,
            #"{"kind":"move","node":7,"name":"report"}"#,
            #"{"kind":"copy","node":7,"name":"report","parent":3}"#,
            #"{"kind":"message","node":7,"name":"report"}"#,
            #"{"kind":"move","node":"7","name":"report","parent":3}"#,
            #"{"kind":"rename","node":7,"name":"report","parent":3}"#,
        ] {
            #expect(throws: DecodingError.self, "\(json)") { try CloudWork.decoded(Data(json.utf8), version: 1) }
        }
    }

    @Test("A new place changes only the place")
    func newPlace() {
        for (_, work) in Self.works {
            var moved = work
            moved.place?.name = "other"
            #expect(moved.kind == work.kind && moved.node == work.node && moved.sections == work.sections)
            #expect(moved.place?.name == work.place.map { _ in "other" })
            #expect(moved.place?.parent == work.place?.parent)
        }
    }
}
