
// Steps of optimizers: one pass over a parameter and its state. The formulas, with their sources, are in
// ir/schema/optimizer_updates.h; what calls these is python/tandem/optim.
def : Update<"count_update", "count", ["step"], [], []> {
  let summary = "The count of steps, after one more.";
}

def : Update<"sgd_update", "sgd", ["param", "momentum_buffer"], ["grad"],
    ["lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize"]> {
  let summary = "Gradient descent with momentum.";
}

def : Update<"adam_update", "adam",
    ["param", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"],
    ["grad"],
    ["step", "lr", "beta1", "beta2", "eps", "weight_decay", "amsgrad", "decoupled", "maximize"]> {
  let summary = "Adam, AdamW and AMSGrad.";
}

def : Update<"adamax_update", "adamax", ["param", "exp_avg", "exp_inf"], ["grad"],
    ["step", "lr", "beta1", "beta2", "eps", "weight_decay", "maximize"]> {
  let summary = "Adamax.";
}

def : Update<"nadam_product_update", "nadamProduct", ["mu_product"], [],
    ["step", "beta1", "momentum_decay"]> {
  let summary = "The product of NAdam's momenta.";
}

def : Update<"nadam_update", "nadam", ["param", "exp_avg", "exp_avg_sq"], ["grad"],
    ["mu_product", "step", "lr", "beta1", "beta2", "eps", "weight_decay", "momentum_decay", "decoupled", "maximize"]> {
  let summary = "NAdam.";
}

def : Update<"radam_update", "radam", ["param", "exp_avg", "exp_avg_sq"], ["grad"],
    ["step", "lr", "beta1", "beta2", "eps", "weight_decay", "decoupled", "maximize"]> {
  let summary = "RAdam.";
}

def : Update<"rmsprop_update", "rmsprop",
    ["param", "square_avg", "momentum_buffer", "grad_avg"],
    ["grad"],
    ["lr", "alpha", "eps", "weight_decay", "momentum", "centered", "maximize"]> {
  let summary = "RMSprop, centred or not, with or without momentum.";
}

def : Update<"adagrad_update", "adagrad", ["param", "sum"], ["grad"],
    ["step", "lr", "lr_decay", "eps", "weight_decay", "maximize"]> {
  let summary = "Adagrad.";
}

def : Update<"adadelta_update", "adadelta", ["param", "square_avg", "acc_delta"], ["grad"],
    ["lr", "rho", "eps", "weight_decay", "maximize"]> {
  let summary = "Adadelta.";
}

def : Update<"rprop_update", "rprop", ["param", "prev", "step_size"], ["grad"],
    ["etaminus", "etaplus", "smallest", "largest", "maximize"]> {
  let summary = "Rprop.";
}

def : Update<"asgd_update", "asgd", ["param", "ax"], ["grad"],
    ["eta", "mu", "lambd", "weight_decay", "maximize"]> {
  let summary = "Averaged gradient descent.";
}

def : Update<"asgd_rates_update", "asgdRates", ["eta", "mu"], [],
    ["step", "lr", "lambd", "alpha", "t0"]> {
  let summary = "The rates of averaged gradient descent at the next step.";
}
