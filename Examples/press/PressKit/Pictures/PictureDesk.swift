import Foundation
import Strata
import StrataCloud
import StrataPipeline

extension PipelineName {
    /// Makes previews, and removes files.
    static let pictures: PipelineName = "pictures"
}

/// Reads the header of a picture.
struct MakePreview: OperationPayload {
    var picture: ObjectID<Picture>
}

/// Removes the file of a deleted picture. The operation is part of the commit that deletes the picture, so the file
/// stays if the commit fails. Other nodes that have the file keep it until their next start.
struct RemoveFile: OperationPayload {
    var file: String
}

/// The handlers of the pipeline of pictures.
struct PictureDesk: Sendable {
    let stack: ContextStack
    let settings: PressSettings
    let folder: PictureFolder

    func open() async throws -> Pipeline {
        let options = PipelineOptions(maxConcurrent: 2, timeout: .seconds(60), shutdownGrace: settings.shutdownGrace)
        return try await Pipeline.open(stack, named: .pictures, options: options) { handlers in
            handlers.on(MakePreview.self) { work, _ in try await makePreview(of: work.picture) }
            handlers.on(RemoveFile.self) { work, _ in
                try await BlockingWork.run { try folder.remove(work.file) }
                return .done
            }
        }
    }

    private func makePreview(of id: ObjectID<Picture>) async throws -> Outcome {
        let file = try await stack.background { context in try context.find(id)?.file }
        guard let file else { return .skip }
        let place = try await folder.place(of: file, from: stack)
        let preview = try await BlockingWork.run {
            try PictureHeader(place).isComplete() ? PictureHeader(place).preview() : nil
        }
        return .done { context in
            guard let picture = try context.find(id) else { return }
            picture.preview = preview
            picture.state = preview == nil ? .unreadable : .ready
            picture.revise()
        }
    }
}

/// Gives the account the files of pictures, and records uploads that have arrived.
struct PictureUploads: CloudHandler {
    let stack: ContextStack
    let folder: PictureFolder

    func content(for request: ContentRequest) async throws -> RemoteBody? {
        guard request.section == .data, let id = request.object(as: Picture.self) else { return nil }
        let file = try await stack.background { context in try context.find(id)?.file }
        guard let file else { return nil }
        return try RemoteBody(file: try await folder.place(of: file, from: stack))
    }

    func didUpload(_ sections: ContentSections, of node: CloudNode, in cloud: CloudContext) throws {
        guard let id = node.link.flatMap({ ObjectID<Picture>($0) }) else { return }
        guard let picture = try cloud.context.find(id) else { return }
        picture.mirroredAt = Date()
        picture.revise()
    }
}
