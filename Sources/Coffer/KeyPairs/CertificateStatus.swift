public import CofferBase
public import CofferCrypto
public import FoundationEssentials

/// The state of a key pair's certificate at a time. The time of its end is read from the certificate.
public struct CertificateStatus: Sendable, Equatable {
    /// A state of a certificate.
    public enum State: String, Sendable {
        /// A certificate was requested, and none is installed, so the key pair cannot be used where one is
        /// needed.
        case awaitingSignature
        /// The certificate is not valid yet.
        case notYetValid
        /// The certificate is valid.
        case usable
        /// The certificate has expired.
        case expired
    }

    /// The numbers of days before a certificate's end from which its owner is told of it.
    public static let warningDays = [30, 7, 0]
    private static let secondsADay: Int64 = 86_400

    /// The key pair's alias.
    public let alias: String
    /// The state.
    public let state: State
    /// The certificate; `nil` while it is awaited.
    public let details: CertificateDetails?
    /// The last second in which the certificate is valid; `nil` while it is awaited.
    public let expires: Date?
    /// The number of whole days that the certificate is still valid, at most 0 if it has expired; `nil`
    /// while it is awaited.
    public let daysLeft: Int?

    /// The smallest of ``warningDays`` that is not less than the days left; `nil` as long as nobody needs to
    /// be told.
    public var warning: Int? { daysLeft.flatMap { left in Self.warningDays.last { left <= $0 } } }

    /// A sentence that says how long the certificate is valid.
    package var sentence: String {
        let end = expires.map { $0.formatted(.iso8601) } ?? ""
        let name = "The certificate of the key pair \(alias)"
        switch (state, daysLeft ?? 0) {
        case (.awaitingSignature, _): return "\(name) is not installed yet."
        case (.notYetValid, _): return "\(name) is not valid yet."
        case (.expired, _): return "\(name) expired at \(end)."
        case (.usable, 0): return "\(name) expires within a day, at \(end)."
        case (.usable, let left): return "\(name) expires in \(left) day\(left == 1 ? "" : "s"), at \(end)."
        }
    }

    fileprivate init(awaitedBy pair: KeyPair) {
        (alias, state, details, expires, daysLeft) = (pair.alias, .awaitingSignature, nil, nil, nil)
    }

    fileprivate init(_ pair: KeyPair, _ details: CertificateDetails, _ now: Int64) {
        alias = pair.alias
        self.details = details
        expires = Date(timeIntervalSince1970: Double(details.notAfter))
        // Rounded down, also below zero.
        let left = details.notAfter + 1 - now
        daysLeft = Int(left >= 0 ? left / Self.secondsADay : (left - Self.secondsADay + 1) / Self.secondsADay)
        state =
            if now > details.notAfter { .expired } else if now < details.notBefore { .notYetValid } else {
                .usable
            }
    }
}

extension KeyPair {
    /// A time long after those that certificates can state, in seconds since 1970.
    private static let latestTime = 1e12

    /// Returns the state of the key pair's certificate; `nil` if it has none and requested none.
    ///
    /// - Parameter time: The time for which the state is asked.
    /// - Returns: The state.
    /// - Throws: `corrupt` if the stored certificate cannot be read; `outOfMemory`.
    public func certificateStatus(at time: Date = Date()) throws(CofferError) -> CertificateStatus? {
        guard let first = chain?.certificates.first else {
            return isAwaitingCertificate ? CertificateStatus(awaitedBy: self) : nil
        }
        do throws(CofferError) {
            // A program can ask for any time, also for one that is no number of seconds.
            let seconds = min(Self.latestTime, max(-Self.latestTime, time.timeIntervalSince1970))
            let now = Int64(seconds.rounded(.down))
            return CertificateStatus(self, try CertificateDetails(der: first), now)
        } catch {
            guard error.code == .invalidInput else { throw error }
            throw CofferError(.corrupt, "A stored certificate is damaged.", remedy: .restoreVault)
        }
    }
}
