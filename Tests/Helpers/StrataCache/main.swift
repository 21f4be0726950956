import Foundation
import StoreModels
import StrataCloud

// strata-cache FOLDER SEED STEPS: performs random operations on the cache of a folder, and writes a line for each step.
// Tests kill it.

let arguments = CommandLine.arguments
guard arguments.count == 4, let seed = UInt64(arguments[2]), let steps = Int(arguments[3]) else {
    FileHandle.standardError.write(Data("usage: strata-cache FOLDER SEED STEPS\n".utf8))
    exit(2)
}
var random = Dice(seed: seed)
let cache = try await DiskCache.open(URL(filePath: arguments[1]), limit: 20_000)
var held: [DownloadedFile] = []
for step in 0..<steps {
    let key = CacheKey(account: "alice", node: Int64.random(in: 0..<20, using: &random), sections: .data)
    switch Int.random(in: 0..<6, using: &random) {
    case 0...2:
        let eTag = ETag("\(seed).\(step)")
        let place = try cache.temporaryPlace()
        let text = "\(key.node) \(eTag.value) "
        let size = Int.random(in: 0..<2000, using: &random)
        try Data((text + String(repeating: "x", count: size)).utf8).write(to: place)
        let retention: CacheRetention = key.node < 3 ? .persistent : .evictable
        held.append(try await cache.adopt(place, as: key, eTag: eTag, retention: retention))
    case 3:
        if let file = try await cache.file(key) { held.append(file) }
    case 4: try await cache.remove(key)
    default: try Data("a download that is not finished".utf8).write(to: cache.temporaryPlace())
    }
    // Each held file can be read, and has the expected content.
    for file in held {
        let text = try String(contentsOf: file.file, encoding: .utf8)
        guard text.utf8.count == file.size, text.split(separator: " ")[1] == file.eTag?.value ?? "" else {
            print("damaged")
            exit(1)
        }
    }
    while held.count > 4 { held.removeFirst().release() }
    FileHandle.standardOutput.write(Data("\(step)\n".utf8))
}
try await cache.close()
