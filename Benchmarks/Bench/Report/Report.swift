/// The document that `--json` writes.
struct Report: Codable, Sendable {
    let machine: Machine
    let results: [Measurement]
    let skipped: [Skip]
}

/// One figure, with its peer's if there is one.
struct Measurement: Codable, Sendable {
    let name: String
    let peer: String?
    let peerVersion: String?
    let unit: String
    let ours: Distribution
    let theirs: Distribution?
    /// Their median / our median: above 1 we are faster.
    let ratio: Double?
    let samples: Int
    let note: String?

    init(
        name: String, peer: String? = nil, peerVersion: String? = nil, unit: String, ours: Distribution,
        theirs: Distribution? = nil, samples: Int, note: String?
    ) {
        self.name = name
        self.peer = peer
        self.peerVersion = peerVersion
        self.unit = unit
        self.ours = ours
        self.theirs = theirs
        ratio = theirs.map { $0.median / ours.median }
        self.samples = samples
        self.note = note
    }

    /// Absent values are written as null, so that every result has every field.
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(peer, forKey: .peer)
        try container.encode(peerVersion, forKey: .peerVersion)
        try container.encode(unit, forKey: .unit)
        try container.encode(ours, forKey: .ours)
        try container.encode(theirs, forKey: .theirs)
        try container.encode(ratio, forKey: .ratio)
        try container.encode(samples, forKey: .samples)
        try container.encode(note, forKey: .note)
    }
}

/// A figure that is missing.
struct Skip: Codable, Sendable {
    let name: String
    let peer: String?
    let reason: String

    /// An absent peer is written as null.
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(peer, forKey: .peer)
        try container.encode(reason, forKey: .reason)
    }
}

/// The median, minimum and maximum of the samples.
struct Distribution: Codable, Sendable {
    let median: Double
    let min: Double
    let max: Double

    /// Summarises at least one sample.
    init(_ samples: [Double]) {
        let sorted = samples.sorted()
        let middle = sorted.count / 2
        median = sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
        min = sorted[0]
        max = sorted[sorted.count - 1]
    }
}
