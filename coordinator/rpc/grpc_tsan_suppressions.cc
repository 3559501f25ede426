// The system's gRPC is not instrumented, so ThreadSanitizer does not see how it orders what its header-only parts do on
// several threads, and takes that for races. These parts call none of our code; races of ours are still found.
extern "C" const char* __tsan_default_suppressions() {
  return "race_top:grpc::\n"
         // The functions that gRPC keeps in its completion tags.
         "race_top:std::function<void (bool)>::operator()\n"
         "race_top:std::_Function_base::_M_empty\n"
         "race:grpc::internal::CallOp\n"
         "race:grpc::internal::InterceptorBatchMethodsImpl\n"
         "race:grpc::ServerUnaryReactor::\n"
         "race:grpc::Status::\n"
         "race:ServerCallbackUnaryImpl::~\n"
         "race:ServerCallbackWriterImpl::~\n"
         "race:ServerCallbackReaderWriterImpl::~\n";
}
