import CofferCommandLine
import CofferEngine

CompanionProgram.start(DatabaseRoot.self)
OpenSSLAlgorithm.startWithoutTables()
MainExecutor.run { await DatabaseRoot.start(ProgramArguments.all) }
